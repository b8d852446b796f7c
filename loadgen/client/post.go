package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxPost is the largest answer that Post reads, in bytes: the numbers of a
// million tokens.
const maxPost = 16 << 20

// Post sends a JSON document to a path beside /v1 of the first endpoint and
// returns the answer, an error unless its status is 200. It is for what belongs
// to no measurement.
func (c *Client) Post(ctx context.Context, path string, body []byte) ([]byte, error) {
	s := c.servers[0]
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.root.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, redact(OneLine(err.Error()), c.secrets))
	}
	request.Host = s.host
	request.Header = s.header.Clone()
	request.Header.Set("Accept", "application/json")
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, redact(OneLine(err.Error()), c.secrets))
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxPost))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, redact(OneLine(err.Error()), c.secrets))
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", path, response.Status)
	}
	return answer, nil
}
