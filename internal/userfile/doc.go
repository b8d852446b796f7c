// Package userfile reads files that users name: regular ones alone, up to a
// limit, and with errors in terms of the file rather than of the program.
package userfile
