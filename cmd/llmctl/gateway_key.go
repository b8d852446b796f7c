package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/iostreams"
)

func newGatewayKey(s *iostreams.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Make a new key for a tenant",
		Long: `Make a new random key, and the hash of it that the configuration holds. The key
is for the client, and shown this once: nobody can get it back from the hash.`,
		Example: `  llmctl gateway key`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key := "sk-" + strings.ToLower(rand.Text()+rand.Text())
			_, err := fmt.Fprintf(s.Out, "key:  %s\nhash: %s\n", key, config.HashKey(key))
			return err
		},
	}
}

func newGatewayHash(s *iostreams.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "hash",
		Short: "Print the hash of a key",
		Long: `Print the hash of a key as the configuration holds it. The key is read from
standard input, not from the command line, where every process on the machine could
see it.`,
		Example: `  printf %s "$KEY" | llmctl gateway hash`,
		Args:    noKeyHere,
		RunE: func(*cobra.Command, []string) error {
			if s.InTTY {
				fmt.Fprintln(s.Err, "type or paste the key, then press Enter and Ctrl-D")
			}
			key, err := readKey(s.In)
			if err != nil {
				return usage(err)
			}
			_, err = fmt.Fprintln(s.Out, config.HashKey(key))
			return err
		},
	}
}

// noKeyHere refuses arguments without quoting them.
func noKeyHere(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("expected the key on standard input, not on the command line, where others can see it")
	}
	return nil
}

// longestKey is far above any key; what is longer is another file.
const longestKey = 4096

// readKey reads a key with the line break that echo and editors put behind it.
// What a client could not send in a header is no key.
func readKey(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, longestKey+1))
	if err != nil {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	key := strings.TrimSpace(string(data))
	switch {
	case key == "":
		return "", errors.New("no key on standard input")
	case len(data) > longestKey:
		return "", fmt.Errorf("more than %d bytes on standard input, expected a key", longestKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f }):
		return "", errors.New("expected one key on standard input, without blanks, line breaks or characters that no header can hold")
	}
	return key, nil
}
