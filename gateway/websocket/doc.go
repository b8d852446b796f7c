// Package websocket serves an HTTP API over WebSocket (RFC 6455) as well: the
// first message of a connection is the body of a request, each event of a
// streamed answer becomes a message, an answer that is not streamed is one
// message, and the close code says how it ended. The handler behind it is the
// one for HTTP and does not know the difference.
package websocket
