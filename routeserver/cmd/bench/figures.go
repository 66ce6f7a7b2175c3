package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Figures are the results of a run, as the file of figures holds them.
type Figures struct {
	Machine string   `json:"machine"`
	Load    string   `json:"load_average_before"`
	Results []Result `json:"results"`
}

func (f Figures) write(file string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

func readFigures(file string) (f Figures, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return f, fmt.Errorf("--from: %s: %w", file, err)
	}
	return f, nil
}
