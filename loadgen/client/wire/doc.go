// Package wire sends HTTP/1.1 requests over pooled connections and hands each
// read from a socket on as it returns, with its time.
//
// It exists because what a load generator measures ends at the return of a read.
// Parser is the grammar of responses as a state machine that bytes are pushed
// into, whatever their boundaries; it does no I/O. Pool keeps the connections to
// one address: it dials them with a cap on how many at a time, ahead of the
// window when asked, and reuses those that have been idle for less than servers
// wait. On Linux one loop reads all sockets of a client that epoll reports as
// ready; elsewhere, and for connections without a file descriptor, each request
// reads in its own goroutine.
package wire
