package store

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Device returns a token that shows that a browser was signed in to an account with its
// present password; "" for an account without one. It lets nobody in: anyone who has it is not held up
// by what strangers try.
func (a Account) Device() string {
	if a.hash == "" {
		return ""
	}
	id := rand.Text()
	return id + "." + a.deviceMAC(id)
}

// Knows reports whether a token is one of this account's devices.
func (a Account) Knows(token string) bool {
	_, known := a.device(token)
	return known
}

// deviceMAC binds a device to an account and its password, whose hash no browser has.
func (a Account) deviceMAC(id string) string {
	sum := hmac.New(sha256.New, []byte(a.hash))
	sum.Write([]byte("sotto device\x00" + a.Name + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// device returns which device a token is of, and whether it is one of this account.
func (a Account) device(token string) (id string, known bool) {
	id, mac, _ := strings.Cut(token, ".")
	return id, hmac.Equal([]byte(mac), []byte(a.deviceMAC(id))) && a.hash != ""
}
