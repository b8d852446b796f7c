//go:build integration

package sizing

const everyCase = true
