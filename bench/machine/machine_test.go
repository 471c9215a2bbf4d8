package machine

import (
	"strings"
	"testing"
)

func TestIdle(t *testing.T) {
	for load, want := range map[string]bool{"0.00": true, "0.70": true, "0.71": false, "12.5": false, "unknown": false, "": false} {
		if Idle(load) != want {
			t.Errorf("a load of %q is idle: %v", load, !want)
		}
	}
}

func TestName(t *testing.T) {
	if n := Name(); !strings.Contains(n, "processors") || strings.Contains(n, "\n") {
		t.Errorf("this machine is %q", n)
	}
	if strings.ContainsAny(Load(), " \n") {
		t.Errorf("its load is %q", Load())
	}
}
