package ruleset

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weft/routeserver/durable"
)

// Files in a store's directory.
const (
	snapshotFile = "ruleset.json"  // a whole rule set, replaced atomically
	journalFile  = "changes.jsonl" // the snapshot's SHA-256, and the changes since: each is on disk before it is in force
)

// journalLimit is the number of changes in the journal before they are folded into a snapshot.
const journalLimit = 1000

// Store keeps the rule set of a route server on its disk. A change costs one line and one fsync, whatever the size of the
// rule set. Load returns the rule set that was last in force, even after a power failure.
type Store struct {
	dir     string
	journal *os.File
	lines   int
}

// OpenStore opens a store in a directory, and makes the directory if it is not there.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("the state directory cannot be made: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Load reads the rule set; it returns nil if there is none.
func (s *Store) Load() (*Set, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, snapshotFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("the rule set cannot be read: %w", err)
	}
	document, err := DecodeDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(s.dir, snapshotFile), err)
	}
	set, err := Build(document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(s.dir, snapshotFile), err)
	}
	return s.replay(set, digest(data))
}

func digest(snapshot []byte) string {
	sum := sha256.Sum256(snapshot)
	return hex.EncodeToString(sum[:])
}

// replay applies the journal, unless that belongs to another snapshot (a crash came between the two files). A line that a
// crash cut off was never in force and ends the journal.
func (s *Store) replay(set *Set, snapshot string) (*Set, error) {
	file, err := os.Open(filepath.Join(s.dir, journalFile))
	if errors.Is(err, os.ErrNotExist) {
		return set, nil
	} else if err != nil {
		return nil, fmt.Errorf("the journal cannot be read: %w", err)
	}
	defer file.Close()
	r := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return set, nil // perhaps after a part of a line
		} else if err != nil {
			return nil, fmt.Errorf("the journal cannot be read: %w", err)
		}
		if n == 1 {
			if string(line) != snapshot+"\n" {
				return set, nil
			}
			continue
		}
		change, err := DecodeChange(line)
		if err == nil {
			set, err = set.Apply(change)
		}
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %w", filepath.Join(s.dir, journalFile), n, err)
		}
	}
}

// Save replaces everything with a snapshot.
func (s *Store) Save(set *Set) error {
	data, err := json.Marshal(set.Document())
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := s.replace(snapshotFile, data); err != nil {
		return fmt.Errorf("the rule set cannot be saved: %w", err)
	}
	return s.restart(digest(data))
}

// Append makes a change durable. set is the result of the change; it is saved as a whole when the journal has grown long.
func (s *Store) Append(c *Change, set *Set) error {
	if s.journal == nil || s.lines >= journalLimit {
		return s.Save(set)
	}
	durable := *c
	if durable.Ops == nil {
		durable.Ops = []Operation{} // the reader of the journal expects a list
	}
	line, err := json.Marshal(&durable)
	if err != nil {
		return err
	}
	end, err := s.journal.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = s.journal.Write(append(line, '\n')); err == nil {
			err = s.journal.Sync()
		}
		if err != nil {
			// It is unknown whether the line is there; a whole line that was refused must not come back.
			_ = s.journal.Truncate(end)
		}
	}
	if err != nil {
		return fmt.Errorf("the change cannot be saved: %w", err)
	}
	s.lines++
	return nil
}

// restart begins an empty journal.
func (s *Store) restart(snapshot string) error {
	if s.journal != nil {
		s.journal.Close()
		s.journal = nil
	}
	if err := s.replace(journalFile, []byte(snapshot+"\n")); err != nil {
		return fmt.Errorf("the journal cannot be started: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(s.dir, journalFile), os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("the journal cannot be opened: %w", err)
	}
	s.journal, s.lines = file, 0
	return nil
}

// replace writes a file so that it has the old or the new content after a crash.
func (s *Store) replace(name string, data []byte) error {
	return durable.Replace(filepath.Join(s.dir, name), data, 0o640)
}

// Close closes the journal.
func (s *Store) Close() error {
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}
