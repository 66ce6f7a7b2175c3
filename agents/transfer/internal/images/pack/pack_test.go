package pack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
)

// files writes files of a virtual machine, and returns their paths.
func files(t *testing.T, names ...string) (paths []string) {
	t.Helper()
	folder := t.TempDir()
	for n, name := range names {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, imagetest.Bytes(uint64(n), 1000+n), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestTheSameFilesHaveTheSameDigest(t *testing.T) {
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "below", "new")
	paths := files(t, "kernel", "initramfs", "cmdline", "disk.qcow2")
	first, err := Pack(t.Context(), one, paths)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Pack(t.Context(), two, []string{paths[3], paths[1], paths[0], paths[2]})
	if err != nil || first != second {
		t.Errorf("%s and %s, %v", first, second, err)
	}
	root, err := os.OpenRoot(two)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m, err := layout.Open(root)
	if err == nil {
		err = layout.Whole(root, m)
	}
	if err != nil || len(m.Files) != 4 || m.Descriptor.ArtifactType != layout.VM {
		t.Errorf("%+v, %v", m, err)
	}
	for n, path := range paths {
		if found, err := os.ReadFile(filepath.Join(two, filepath.Base(path))); err != nil || string(found) != string(imagetest.Bytes(uint64(n), 1000+n)) {
			t.Errorf("%s has %d bytes, %v", path, len(found), err)
		}
	}
	third, err := Pack(t.Context(), t.TempDir(), paths[:2])
	if err != nil || third == first {
		t.Errorf("fewer files: %s, %v", third, err)
	}
}

func TestABaseMemoryHasTheNameOfItsDigest(t *testing.T) {
	content := imagetest.Bytes(7, 100)
	right, wrong := layout.Memory+digest.FromBytes(content).Encoded(), layout.Memory+digest.FromString("another").Encoded()
	paths := files(t, "kernel", right, wrong)
	for _, path := range paths[1:] {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one := t.TempDir()
	if _, err := Pack(t.Context(), one, paths[:2]); err != nil {
		t.Fatal(err)
	}
	if found, err := os.ReadFile(filepath.Join(one, right)); err != nil || string(found) != string(content) {
		t.Errorf("%d bytes, %v", len(found), err)
	}
	if made, err := Pack(t.Context(), t.TempDir(), paths[2:]); err == nil || !strings.Contains(err.Error(), "and its digest, here") {
		t.Errorf("%s, %v", made, err)
	}
}

func TestOtherFilesAreNotPacked(t *testing.T) {
	full := t.TempDir()
	files := files(t, "kernel", "README")
	if err := os.WriteFile(filepath.Join(full, "kernel"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, one := range map[string]struct {
		folder string
		files  []string
	}{
		"has the files":   {t.TempDir(), files},
		"another kernel":  {t.TempDir(), []string{files[0], files[0]}},
		"is not empty":    {full, files[:1]},
		"no such file":    {t.TempDir(), []string{"/missing/kernel"}},
		"not a directory": {files[0], files[:1]},
		"a file at least": {t.TempDir(), nil},
	} {
		if made, err := Pack(t.Context(), one.folder, one.files); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s, %v; not %q", made, err, text)
		}
		if left, _ := os.ReadDir(one.folder); one.folder != full && len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}
