package sotto

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/sys/version"
)

// Options of a [Client]. The zero value keeps everything in the state directory and opens
// the default model.
type Options struct {
	// Ledger is the path of an SQLite file or a PostgreSQL URL, of a ledger that is there.
	// Default: ledger.db in the state directory, which the first use makes.
	Ledger string
	// Keys is the directory of the key ring that signs, made by the first use. Default: keys
	// in the state directory.
	Keys string
	// Private is a folder for the key by which the ledger knows data again, and for indexes.
	// Keep it: with another key the same data has another budget. Default: private in the
	// state directory.
	Private string
	// Model is opened by the first use, and closed with the client; the zero value is the
	// default one, embedded.
	Model backend.Spec
	// Trusted is used instead of Model if it is set, and stays open.
	Trusted lm.Trusted
	// Encoder of sentences, for evidence. It stays open. Default: the embedded one, opened where it is
	// needed.
	Encoder lm.TrustedEmbedder
}

// Client uses private data: every use is charged to a budget in its ledger, and what comes
// out is signed by its keys. Its methods may be called concurrently if its model allows that.
type Client struct {
	ledger, keys, private string
	// creates: the ledger is at its usual place, where the first use makes it.
	creates bool
	spec    backend.Spec
	given   bool // the model, by the one who made the client

	encoder lm.TrustedEmbedder // by the one who made the client

	opening sync.Mutex
	model   lm.Trusted
}

// Open returns a client with its state in one directory: ledger, keys, and the private
// folder. A nil o means the defaults. Nothing is written, and no record is read, before it is
// needed.
//
// With "" it is the user's own state, as for the sotto command, so that data has one budget
// whichever program reads it: what o does not name is where SOTTO_LEDGER, SOTTO_KEYS and
// SOTTO_PRIVATE say, else the user's configuration, else in the user's data directory. A ledger
// that is named in any of these ways has to be there.
func Open(dir string, o *Options) (*Client, error) {
	if o == nil {
		o = &Options{}
	}
	c := &Client{spec: o.Model, model: o.Trusted, given: o.Trusted.Valid(), encoder: o.Encoder}
	if dir != "" {
		c.ledger, c.creates = cmp.Or(o.Ledger, filepath.Join(dir, "ledger.db")), o.Ledger == ""
		c.keys, c.private = cmp.Or(o.Keys, filepath.Join(dir, "keys")), cmp.Or(o.Private, filepath.Join(dir, "private"))
		return c, nil
	}
	at, err := (&config.Places{Ledger: o.Ledger, Keys: o.Keys, Private: o.Private}).All()
	if err != nil {
		return nil, fmt.Errorf("find the user's ledger, keys and private folder: %w", err)
	}
	c.ledger, c.keys, c.private, c.creates = at.Ledger, at.Keys, at.Private, config.Usual(at.Ledger)
	return c, nil
}

// Close closes the model, if the client opened it.
func (c *Client) Close() error {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.given || !c.model.Valid() {
		return nil
	}
	m := c.model
	c.model = lm.Trusted{}
	return m.Close()
}

// Ledger returns the address of the client's ledger, Keys the directory of its keys.
func (c *Client) Ledger() string { return c.ledger }

// Keys returns the directory of the client's keys.
func (c *Client) Keys() string { return c.keys }

// Verify checks the certificate of a folder, signed by a key that the client trusts, as
// [Verify] does.
func (c *Client) Verify(dir string) (*certificate.Report, error) {
	trust, err := certificate.LoadTrust(c.keys)
	if err != nil {
		return nil, err
	}
	return Verify(dir, trust)
}

// Verify checks the certificate of a folder against its files, and computes its ε again.
// What is wrong with it is in the report.
func Verify(dir string, trust *certificate.Trust) (*certificate.Report, error) {
	return certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}})
}

// Version returns the version of this module, as certificates state it.
func Version() string { return version.String() }

// open returns the model, and opens it at its first use.
func (c *Client) open(ctx context.Context) (lm.Trusted, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.model.Valid() {
		return c.model, nil
	}
	m, err := backend.Trusted(ctx, c.spec)
	if err == nil {
		c.model = m
	}
	return m, err
}

// destination says where records will go, before anything is sent; "" if nowhere. Anyone who
// opened the model has said so.
func (c *Client) destination() string {
	if c.given || !c.spec.Trusted {
		return ""
	}
	return c.spec.Destination()
}

// remote reports whether a server, which the client reaches, scores records.
func (c *Client) remote() bool { return !c.given && c.spec.Remote() }

// served reports whether the model that sees records is on a server, no matter who opened it.
func (c *Client) served() bool {
	if c.given {
		return c.model.Basis() != lm.InProcess
	}
	return c.spec.Remote()
}

// isURL reports whether an address is one of a server.
func isURL(address string) bool { return strings.Contains(address, "://") }
