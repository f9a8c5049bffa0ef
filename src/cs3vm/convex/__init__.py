"""The convex core: an SVM in which some unlabelled rows are held on a side."""
