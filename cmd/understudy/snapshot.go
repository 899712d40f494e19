package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/route"
)

// own locks the snapshot file until release or the end of the process, even a crash.
// Another server with the same file would overwrite what this one saves.
func (c *ServeCmd) own() error {
	if target, err := filepath.EvalSymlinks(c.Snapshot); err == nil {
		c.Snapshot = target // saving replaces the file, and must not replace a link to it
	}
	if _, err := os.Stat(filepath.Dir(c.Snapshot)); err != nil {
		return usageError("--snapshot: %w", err)
	}
	c.lock = flock.New(c.Snapshot+".lock", flock.SetPermissions(0o600))
	switch ok, err := c.lock.TryLock(); {
	case err != nil:
		return usageError("--snapshot: %w", err)
	case !ok:
		c.lock = nil
		return usageError("--snapshot %s: in use by another server", c.Snapshot)
	}
	return nil
}

// release unlocks the snapshot file.
func (c *ServeCmd) release() error {
	if c.lock == nil {
		return nil
	}
	return c.lock.Close()
}

// state opens the snapshot to start with, nil when there is none yet. It removes what an
// earlier process has left of an incomplete save.
func (c *ServeCmd) state(log *slog.Logger) (*os.File, error) {
	switch {
	case c.SnapshotEvery < 0 || c.SnapshotEvery > 0 && c.Snapshot == "":
		return nil, usageError("--snapshot-every: invalid value %s: must be a duration such as 30s, and must be used with --snapshot FILE", c.SnapshotEvery)
	case c.Snapshot == "":
		return nil, nil
	}
	if err := c.own(); err != nil {
		return nil, err
	}
	if err := os.Remove(c.Snapshot + partialSuffix); err == nil {
		log.Warn("removed what was left of a save that did not complete", "file", c.Snapshot+partialSuffix)
	}
	saved, err := os.Open(c.Snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		log.Info("no snapshot yet: starting empty", "file", c.Snapshot)
		return nil, nil
	}
	if err != nil {
		return nil, usageError("--snapshot: %w", err)
	}
	return saved, nil
}

// saveUntil saves at the interval SnapshotEvery until ctx ends. After a failed save it
// continues, but the server is not ready until a save succeeds.
func (c *ServeCmd) saveUntil(ctx context.Context, s *mockserver.Server, log *slog.Logger) {
	clock, rings := clock.NewReal(), make(chan struct{}, 1)
	failed := false
	for ctx.Err() == nil {
		if c.SnapshotEvery > 0 {
			clock.Alarm(clock.Now().Add(c.SnapshotEvery), func() { rings <- struct{}{} })
		}
		select {
		case <-rings:
			err := c.save(s)
			switch {
			case err != nil:
				s.NotReady("snapshot not saved: " + err.Error())
				log.Error("snapshot not saved", "error", err)
			case failed:
				s.NotReady("")
				log.Info("snapshot saved again", "file", c.Snapshot)
			}
			failed = err != nil
		case <-ctx.Done():
		}
	}
	clock.Alarm(time.Time{}, nil)
}

// save writes the state to the snapshot file.
func (c *ServeCmd) save(s *mockserver.Server) error {
	if c.Snapshot == "" {
		return nil
	}
	if err := replaceFile(c.Snapshot, s.WriteSnapshot); err != nil {
		return fmt.Errorf("snapshot %s: %w", c.Snapshot, err)
	}
	return nil
}

// partialSuffix ends the name of a file that is being written.
const partialSuffix = ".part"

// replaceFile replaces a file by the output of write and a line end: completely or not at
// all, even if the process or the machine fails meanwhile. Only the owner may read it,
// because it contains credentials.
func replaceFile(name string, write func(io.Writer) error) error {
	part, err := os.OpenFile(name+partialSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = write(part); err == nil {
		_, err = part.Write([]byte{'\n'})
	}
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(name+partialSuffix, name)
	}
	if err != nil {
		_ = os.Remove(name + partialSuffix) // the first error is reported
	}
	return err
}

type (
	ctlSnapshot struct {
		Save ctlSave `cmd:"" help:"Write the state of all accounts, or of --account, to a file." example:"understudy ctl snapshot save state.json"`
		Load ctlLoad `cmd:"" help:"Replace the state with that in a file." example:"understudy ctl snapshot load state.json"`
	}
	ctlSave struct {
		File string `arg:"" help:"File to write to."`
	}
	ctlLoad struct {
		File string `arg:"" help:"File to read." type:"path"`
	}
)

// Run saves the state.
func (k *ctlSave) Run(e *env, c *CtlCmd) error {
	size, err := c.download(e, k.File, "snapshot", nil)
	if err != nil {
		return failedAs("snapshot save", err)
	}
	return c.done(e, map[string]any{"file": k.File, "bytes": size}, "{{plain .bytes}} bytes saved to {{.file}}")
}

// download replaces a file by an answer, and shows the progress.
func (c *CtlCmd) download(e *env, file, path string, q url.Values) (int64, error) {
	kept := &counter{}
	stop := e.progress(nil, kept.bar)
	defer stop()
	err := replaceFile(file, func(to io.Writer) error {
		kept.to = to
		return c.call(e, http.MethodGet, path, q, nil, kept)
	})
	return kept.size.Load(), err
}

// failedAs is an error about the usage of a command, unless it has an exit code.
func failedAs(name string, err error) error {
	if _, ok := errors.AsType[*command.Failure](err); ok {
		return err
	}
	return usageError(name+": %w", err)
}

// Run loads the state.
func (k *ctlLoad) Run(e *env, c *CtlCmd) error {
	saved, err := os.Open(k.File)
	if err != nil {
		return usageError("snapshot load: %w", err)
	}
	defer saved.Close() //nolint:errcheck // only read
	info, err := saved.Stat()
	if err == nil && info.IsDir() {
		return usageError("snapshot load: %s is a folder: must be a file of `understudy ctl snapshot save`", k.File)
	}
	from := &counter{from: saved}
	if err == nil {
		from.whole = info.Size()
	}
	stop := e.progress(nil, from.bar)
	answer, err := c.ask(e, route.ControlRestore, nil, nil, io.Reader(from))
	stop()
	if refused, ok := errors.AsType[*command.Failure](err); ok && refused.Code == command.ExitUsage {
		return usageError("snapshot load %s: %w", k.File, refused.Err)
	}
	return c.print(e, answer, err, words(`{{range .accounts}}Account {{.id}} loaded: {{.clock}} clock at {{at .now}}.{{"\n"}}{{end -}}Saved at {{at .savedAt}}.`))
}
