"""What happens when the machine fails: the disk, the memory, the process, its neighbours."""
