package record

import "strconv"

// HTTPFailure is the class of a response with a status other than 2xx, such as
// "http_429".
func HTTPFailure(status int) Failure {
	return Failure("http_" + strconv.Itoa(status))
}
