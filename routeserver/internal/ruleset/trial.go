package ruleset

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weft/routeserver/durable"
)

// trialFile exists while a rule set is in force that must be confirmed.
const trialFile = "trial.json"

// Trial is the fallback of a rule set that is not confirmed in time.
type Trial struct {
	Of       string    `json:"of"` // SHA-256 of the document on trial: the file applies to no other
	Until    time.Time `json:"until"`
	Fallback *Document `json:"fallback"`
}

// SaveTrial makes a trial of next durable. The caller saves next itself afterwards. After a crash in between, LoadTrial
// finds that the file is about another rule set, and removes it.
func (s *Store) SaveTrial(next, fallback *Set, until time.Time) error {
	of, err := fingerprint(next)
	if err != nil {
		return err
	}
	data, err := json.Marshal(Trial{of, until.Round(0), fallback.Document()})
	if err == nil {
		err = s.replace(trialFile, data)
	}
	if err != nil {
		return fmt.Errorf("the rule set to fall back to cannot be saved: %w", err)
	}
	return nil
}

// LoadTrial returns the fallback of a set that is on trial, and the end of the trial; a nil fallback: it is not on trial.
func (s *Store) LoadTrial(set *Set) (fallback *Set, until time.Time, err error) {
	name := filepath.Join(s.dir, trialFile)
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, until, nil
	} else if err != nil {
		return nil, until, fmt.Errorf("the rule set to fall back to cannot be read: %w", err)
	}
	var t Trial
	if err := decode(data, &t); err != nil {
		return nil, until, fmt.Errorf("%s: %w", name, err)
	}
	of, err := fingerprint(set)
	if err != nil {
		return nil, until, err
	}
	if of != t.Of {
		return nil, until, s.EndTrial()
	}
	if t.Fallback == nil {
		return nil, until, fmt.Errorf("%s: fallback: is missing", name)
	}
	if fallback, err = Build(t.Fallback); err != nil {
		return nil, until, fmt.Errorf("%s: %w", name, err)
	}
	return fallback, t.Until, nil
}

// EndTrial removes the fallback durably.
func (s *Store) EndTrial() error {
	err := os.Remove(filepath.Join(s.dir, trialFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = durable.Names(s.dir)
	}
	if err != nil {
		return fmt.Errorf("the end of the trial cannot be saved: %w", err)
	}
	return nil
}

func fingerprint(s *Set) (string, error) {
	data, err := json.Marshal(s.Document())
	return digest(data), err
}
