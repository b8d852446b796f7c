package main

// descriptors is 0: the system has no such bound.
func descriptors() int { return 0 }
