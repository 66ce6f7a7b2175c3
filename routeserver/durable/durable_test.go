package durable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheNameIsOnTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	var seen []string
	synced = func(dir *os.File) error {
		data, _ := os.ReadFile(path)
		seen = append(seen, dir.Name()+" "+string(data))
		return dir.Sync()
	}
	defer func() { synced = (*os.File).Sync }()
	if err := Replace(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Dir(path) + " new"; len(seen) != 1 || seen[0] != want {
		t.Fatalf("synced %q, want %q once, after the rename", seen, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestWhatCannotBeReplacedStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passwords")
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if Replace(path, []byte("new"), 0o600) == nil {
		t.Fatal("a directory was replaced by a file")
	}
	if _, err := os.Stat(path + ".new"); !os.IsNotExist(err) {
		t.Fatalf("the new file is left: %v", err)
	}
}

// TestNothingElseRenames checks that no other package of internal calls os.Rename.
func TestNothingElseRenames(t *testing.T) {
	var found []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "Rename" {
				found = append(found, filepath.ToSlash(path))
			}
			return true
		})
		return nil
	})
	if err != nil || len(found) != 1 || found[0] != "../durable/durable.go" {
		t.Fatalf("renames in %v (%v)", found, err)
	}
}
