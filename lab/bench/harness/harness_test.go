package harness

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestIdle(t *testing.T) {
	for load, want := range map[string]bool{"0.00": true, "0.70": true, "0.71": false, "12.5": false, "unknown": false, "": false} {
		if idle := !strings.Contains(Machine{Load: load}.Idle(), "not idle"); idle != want {
			t.Errorf("a load of %q is idle: %v", load, idle)
		}
	}
}

func TestHere(t *testing.T) {
	m := Here()
	if !strings.Contains(m.Name, "processors") || strings.Contains(m.Name, "\n") {
		t.Errorf("this machine is %q", m.Name)
	}
	if strings.ContainsAny(m.Load, " \n") {
		t.Errorf("its load is %q", m.Load)
	}
}

func TestRatio(t *testing.T) {
	for goal, want := range map[float64]string{0: "**2.50×** (1.00–4.00)", 2: "**2.50×** (1.00–4.00), goal 2×", 3: "**2.50×** (1.00–4.00), goal 3×: missed"} {
		if got := Ratio([]float64{4, 1, 2, 3}, goal); got != want {
			t.Errorf("goal %g: %s", goal, got)
		}
	}
}

func TestAsk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte(`{"seconds": 2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	if err := Ask(&got, "cat", path); err != nil || got["seconds"] != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if err := Ask(&got, "cat", path+"x"); err == nil {
		t.Error("a program that failed gave no error")
	}
}

func TestPeakMB(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("peak memory is read on Linux only")
	}
	before, err := PeakMB(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	after, err := PeakMB(os.Getpid())
	expect.NoError(t, err)
	expect.Min(t, "after", after, before+32)
	expect.Min(t, "after", after, 64)
	runtime.KeepAlive(held)
	if _, err := PeakMB(-1); err == nil {
		t.Error("a process that is none has a peak")
	}
}
