package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"weft/routeserver/internal/session"
)

// rekey reads the password file again at every SIGHUP, until the context ends. A file with an error changes nothing.
func rekey(ctx context.Context, file string, sessions *session.Server, log *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
			}
			if file == "" {
				log.Info("SIGHUP: there is no --password-file to read again")
				continue
			}
			keys, err := session.ReadKeys(file)
			if err == nil {
				err = sessions.Rekey(keys)
			}
			if err != nil {
				log.Error("the password file is not taken, and the keys stay as they were", "error", err)
			}
		}
	}()
}
