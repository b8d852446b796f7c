package store

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts
var scriptFiles embed.FS

// The scripts that run in Redis, each as one atomic step on the keys of one
// tenant.
var (
	reserveScript = script("reserve")
	settleScript  = script("settle")
	renewScript   = script("renew")
	seedScript    = script("seed")
	lookScript    = script("look")
)

func script(name string) *redis.Script {
	return redis.NewScript(source("common") + source(name))
}

func source(name string) string {
	text, err := scriptFiles.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
