package simulator

// state is whether a replica takes requests.
type state uint8

const (
	serving  state = iota // takes requests
	starting              // takes none yet
	draining              // takes no new ones, and ends those it has
	down                  // has none, and no cache
)
