package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sotto-dp/sotto/internal/sys/pgtest"
)

func TestDurable(t *testing.T) {
	tests := []struct {
		fsync, pages, commit string
		raised, refused      bool
	}{
		{"on", "on", "on", false, false},
		{"on", "on", "remote_apply", false, false}, // stronger: left alone
		{"on", "on", "local", true, false},
		{"on", "on", "off", true, false},
		{"off", "on", "on", false, true},
		{"on", "off", "on", false, true},
	}
	for _, tt := range tests {
		set, err := durable(tt.fsync, tt.pages, tt.commit)
		if (err != nil) != tt.refused || err == nil && (len(set) != len(settings)) != tt.raised {
			t.Errorf("%+v: %q, %v", tt, set, err)
		}
	}
}

func TestSynchronousCommitIsRaised(t *testing.T) {
	config, err := pgx.ParseConfig(pgtest.Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"off": "on", "local": "on", "on": "on", "remote_write": "remote_write"} {
		t.Run(from, func(t *testing.T) {
			config.RuntimeParams["synchronous_commit"] = from
			c, err := connect(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if err := c.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got != want {
				t.Errorf("%s becomes %s, %v; want %s", from, got, err, want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
