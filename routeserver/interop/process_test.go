package interop

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

const (
	routeServerCommand = "weft/routeserver/cmd/weft-routeserver"
	gobgpdCommand      = "github.com/osrg/gobgp/v4/cmd/gobgpd"
)

// built are the commands that tests have built, in a directory that TestMain removes.
var built struct {
	sync.Mutex
	dir string
}

// TestMain runs more tests at once than there are processors: they wait most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// program compiles a command of this module or of one that it depends on, once.
func program(t *testing.T, pkg string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the daemons with")
	}
	if built.dir == "" {
		var err error
		if built.dir, err = os.MkdirTemp("", "weft-interop-bin-"); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(built.dir, filepath.Base(pkg))
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	if out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be built: %v\n%s", pkg, err, out)
	}
	return binary
}

// process is a daemon that ends with the test at the latest. If the test fails, the log shows its output.
type process struct {
	command *exec.Cmd
	output  bytes.Buffer
}

func (p *process) said() string { return p.output.String() }

func spawn(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(name, args...)}
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	// Daemons start child processes, which must end with them. (These must not keep our pipe open either.)
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %v said:\n%s", name, args, tail(p.output.Bytes()))
		}
	})
	return p
}

func tail(text []byte) string {
	const most = 4000
	if len(text) > most {
		return fmt.Sprintf("… %s", text[len(text)-most:])
	}
	return string(text)
}

// freeze suspends the daemon, and thaw resumes it. Meanwhile the kernel accepts connections for it.
func (p *process) freeze() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGSTOP) }
func (p *process) thaw()   { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGCONT) }

// kill sends SIGKILL. The kernel closes the connections.
func (p *process) kill() {
	if p.command.ProcessState == nil {
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
		_ = p.command.Wait()
	}
}
