"""scikit-learn's side: from rows and labels to a fitted classifier."""
