package config

import (
	"errors"
	"net/url"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/sys/machine"
)

// OIDC is the table [oidc] of a configuration file: how people of an organisation sign in to the
// dashboard.
type OIDC struct {
	// Issuer is the address of the organisation's sign-in. Required.
	Issuer string `toml:"issuer"`
	// ClientID is what the issuer calls this service. Required.
	ClientID string `toml:"client_id"`
	// URL is where people reach the dashboard. Required.
	URL string `toml:"url"`
	// SecretEnv and SecretFile name what holds the client's secret.
	SecretEnv  string `toml:"secret_env"`
	SecretFile string `toml:"secret_file"`
	// Claim names the claim whose values give a role.
	Claim string `toml:"claim"`
	// Viewers are the values whose people may look. If there are some, nobody without one of the
	// values is let in.
	Viewers []string `toml:"viewers"`
	// Operators are the values whose people may start runs.
	Operators []string `toml:"operators"`
	// Owners are the values whose people may approve grants.
	Owners []string `toml:"owners"`
}

func (o *OIDC) check() error {
	if o == nil {
		return nil
	}
	if o.Issuer == "" || o.ClientID == "" || o.URL == "" {
		return errors.New("[oidc] needs issuer, client_id and url, the address at which people reach the dashboard")
	}
	if o.Claim == "" && len(o.Viewers)+len(o.Operators)+len(o.Owners) > 0 {
		return errors.New("[oidc] has values that give roles, and no claim that has them")
	}
	for _, address := range []string{o.Issuer, o.URL} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !machine.Loopback(u.Hostname())) {
			return errors.New("[oidc] has an address that is not https; http is for this machine alone")
		}
	}
	return nil
}

func (o *OIDC) anchor(dir string) {
	if o != nil && o.SecretFile != "" && !filepath.IsAbs(o.SecretFile) {
		o.SecretFile = filepath.Join(dir, o.SecretFile)
	}
}
