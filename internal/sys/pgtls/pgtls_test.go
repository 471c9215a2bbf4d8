package pgtls

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestRequire: beyond this machine no way that is not encrypted is left, unless the
// address itself says how it is to be; within it nothing changes.
func TestRequire(t *testing.T) {
	for _, test := range []struct {
		address, variable string
		plain             bool
		err               error
	}{
		{"postgres://u@db.internal/x", "", false, nil},
		{"host=db.internal,db2.internal user=u", "", false, nil},
		{"postgres://u@db.internal/x", "allow", false, nil},
		{"postgres://u@db.internal/x", "disable", false, ErrPlaintext},
		{"postgres://u@db.internal/x?sslmode=verify-full", "", false, nil},
		{"postgres://u@db.internal/x?sslmode=disable", "", true, nil},
		{"host=db.internal user=u sslmode=prefer", "", true, nil},
		{"postgres://u@127.0.0.1/x", "disable", true, nil},
		{"postgres://u@localhost/x", "", true, nil},
		{"postgres://u@127.0.0.1.example.org/x", "", false, nil},
		{"host=/var/run/postgresql user=u", "", true, nil},
	} {
		t.Setenv("PGSSLMODE", test.variable)
		config, err := pgx.ParseConfig(test.address)
		if err != nil {
			t.Fatal(err)
		}
		if err := Require(config, test.address); !errors.Is(err, test.err) {
			t.Errorf("%s, %q: %v", test.address, test.variable, err)
		} else if err != nil {
			continue
		}
		plain := config.TLSConfig == nil
		for _, f := range config.Fallbacks {
			plain = plain || f.TLSConfig == nil
		}
		if plain != test.plain {
			t.Errorf("%s, %q: a way in clear is left: %v", test.address, test.variable, plain)
		}
	}
}
