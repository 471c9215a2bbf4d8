package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/sys/expect"
)

func rotationOf(t *testing.T, r *Ring, id string) []byte {
	t.Helper()
	data, err := r.Rotation(id)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFollow: someone who trusts the first key alone reaches the third.
func TestFollow(t *testing.T) {
	r := testRing(t)
	first := mustSigner(t, r)
	one, _ := mustRotate(t, r)
	two, three := mustRotate(t, r)
	third := mustSigner(t, r)

	trust := NewTrust(first.Public())
	if _, err := trust.Follow(rotationOf(t, r, three.ID)); err == nil {
		t.Error("followed from a key that is not trusted")
	}
	for _, id := range []string{two.ID, three.ID} {
		info, err := trust.Follow(rotationOf(t, r, id))
		at := expect.At(t, "key %s", id)
		expect.NoError(at, err)
		expect.Equal(at, "info.ID", info.ID, id)
		expect.Equal(at, "info.Status", info.Status, Active)
	}
	if rep := certified(t, third, three.Created, trust); !rep.OK {
		t.Error(failing(rep))
	}
	if rep := certified(t, first, one.Retired, trust); !rep.OK {
		t.Error(failing(rep))
	}
	if got := failing(certified(t, first, one.Retired.Add(24*time.Hour), trust)); !strings.HasPrefix(got, "date: ") {
		t.Errorf("the first key is not retired by the rotation: %q", got)
	}
	if _, err := trust.Follow(rotationOf(t, r, two.ID)); err != nil {
		t.Errorf("the same rotation again: %v", err)
	}
	if len(trust.trusted()) != 3 {
		t.Errorf("trusted are %v", trust.trusted())
	}
}

func TestFollowRefusesHeirsOfThieves(t *testing.T) {
	old, heir, thief := freshSigner(t), freshSigner(t), freshSigner(t)
	statement := func(from, to *Signer, at time.Time) []byte {
		data, err := endorse(from, to.Public(), at)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	fork := NewTrust(old.Public())
	if _, err := fork.Follow(statement(old, heir, testTime)); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{"at the same time": testTime, "backdated": testTime.Add(-time.Hour), "later": testTime.Add(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			if _, err := fork.Follow(statement(old, thief, at)); err == nil {
				t.Errorf("a second successor %s was trusted", name)
			}
		})
	}
	id := old.Public().ID()
	for _, c := range []struct {
		name string
		info KeyInfo
		want string
	}{
		{"revoked", KeyInfo{ID: id, Status: Revoked, Revoked: testTime, Reason: "stolen"}, "was revoked"},
		{"retired", KeyInfo{ID: id, Status: Retired, Retired: testTime.Add(-time.Second)}, "was retired"},
	} {
		trust := &Trust{}
		trust.add(trustedKey{c.info, old.Public()})
		if _, err := trust.Follow(statement(old, thief, testTime)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(trust.trusted()) != 1 {
			t.Errorf("%s: trusted are %v", c.name, trust.trusted())
		}
	}
	// A revoked successor stays revoked, no matter who endorses it.
	trust := NewTrust(old.Public())
	trust.add(trustedKey{KeyInfo{ID: heir.Public().ID(), Status: Revoked, Revoked: testTime, Reason: "stolen"}, heir.Public()})
	if info, err := trust.Follow(statement(old, heir, testTime)); err != nil || info.Status != Revoked {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestFollowChecksTheStatement(t *testing.T) {
	old, heir, other := freshSigner(t), freshSigner(t), freshSigner(t)
	digest := func(k PublicKey) Digest {
		sum := sha256.Sum256(k.PEM())
		return Digest{hex.EncodeToString(sum[:])}
	}
	for _, c := range []struct {
		name   string
		change func(*body[rotation])
	}{
		{"another key in the text", func(b *body[rotation]) { b.Predicate.PublicKey = string(other.Public().PEM()) }},
		{"another ID", func(b *body[rotation]) { b.Predicate.To = other.Public().ID() }},
		{"another subject", func(b *body[rotation]) {
			b.Subject[0] = Subject{publicFileName(other.Public().ID()), digest(other.Public())}
		}},
		{"two subjects", func(b *body[rotation]) {
			b.Subject = append(b.Subject, Subject{"zz", digest(other.Public())})
		}},
		{"another signer", func(b *body[rotation]) { b.Predicate.From = other.Public().ID() }},
		{"itself", func(b *body[rotation]) {
			b.Predicate.To, b.Predicate.PublicKey = old.Public().ID(), string(old.Public().PEM())
			b.Subject[0] = Subject{publicFileName(old.Public().ID()), digest(old.Public())}
		}},
		{"two keys", func(b *body[rotation]) { b.Predicate.PublicKey += string(other.Public().PEM()) }},
		{"no key", func(b *body[rotation]) { b.Predicate.PublicKey = "" }},
		{"no time", func(b *body[rotation]) { b.Predicate.Rotated = time.Time{} }},
		{"the type of a certificate", func(b *body[rotation]) { b.PredicateType = PredicateType }},
	} {
		data, err := endorse(old, heir.Public(), testTime)
		if err != nil {
			t.Fatal(err)
		}
		_, payload, err := openEnvelope(data)
		if err != nil {
			t.Fatal(err)
		}
		var b body[rotation]
		if err := json.Unmarshal(payload, &b); err != nil {
			t.Fatal(err)
		}
		c.change(&b)
		if payload, err = encode(b); err != nil {
			t.Fatal(err)
		}
		trust := NewTrust(old.Public())
		if _, err := trust.Follow(forgeBytes(t, old, payload)); err == nil || len(trust.trusted()) != 1 {
			t.Errorf("%s: %v, trusted %v", c.name, err, trust.trusted())
		}
	}
}

// TestStatementsDoNotStandInForEachOther: a certificate endorses no key, a
// rotation certifies no release.
func TestStatementsDoNotStandInForEachOther(t *testing.T) {
	signer := testSigner(t)
	if _, err := NewTrust(signer.Public()).Follow(sealClaim(t, testClaim(t), basic{}, signer)); err == nil {
		t.Error("a certificate endorsed a key")
	}
	data, err := endorse(signer, freshSigner(t).Public(), testTime)
	if err != nil {
		t.Fatal(err)
	}
	if got := failing(verifyFS(t, release(data), options(signer))); !strings.HasPrefix(got, "statement: ") {
		t.Errorf("a rotation certified a release: %q", got)
	}
	both, err := seal([]byte("{}"), signer, freshSigner(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTrust(signer.Public()).Follow(both); err == nil || !strings.Contains(err.Error(), "one signature") {
		t.Errorf("two signatures: %v", err)
	}
}

func TestEveryByteOfARotationMatters(t *testing.T) {
	old, heir := testSigner(t), freshSigner(t)
	good, err := endorse(old, heir.Public(), testTime)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		if _, err := NewTrust(old.Public()).Follow(flip(good, i, i%8)); err == nil {
			t.Errorf("bit %d of byte %d: followed", i%8, i)
		}
	}
}

// trusted lists what is trusted, by ID.
func (t *Trust) trusted() []KeyInfo {
	infos := make([]KeyInfo, 0, len(t.keys))
	for _, k := range t.keys {
		infos = append(infos, k.KeyInfo)
	}
	slices.SortFunc(infos, func(a, b KeyInfo) int { return strings.Compare(a.ID, b.ID) })
	return infos
}
