package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImage unpacks the image as a container engine does, following and checking every digest, and
// runs its program in what was unpacked.
func TestImage(t *testing.T) {
	src, p := built(t)
	if p.system != "linux" {
		t.Skip("the image is for Linux")
	}
	other := program{p.platform, []byte("of another processor")}
	other.arch = map[string]string{"amd64": "arm64"}[p.arch] + map[string]string{"arm64": "amd64"}[p.arch]
	data, err := ociImage(src, []program{p, other})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, data, dir)
	var top, index, m manifest
	read(t, filepath.Join(dir, "index.json"), &top)
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("%+v", top)
	}
	blob(t, dir, top.Manifests[0], &index)
	if len(index.Manifests) != 2 {
		t.Fatalf("%+v", index)
	}
	i := slices.IndexFunc(index.Manifests, func(d descriptor) bool { return d.Platform.Architecture == p.arch && d.Platform.OS == "linux" })
	blob(t, dir, index.Manifests[i], &m)
	var c imageConfig
	blob(t, dir, *m.Config, &c)
	if c.Architecture != p.arch || c.OS != "linux" {
		t.Errorf("platform: got %s/%s, want linux/%s", c.OS, c.Architecture, p.arch)
	}
	if got := c.Config.User; got != "65532:65532" {
		t.Errorf("user: got %s, want 65532:65532", got)
	}
	if len(m.Layers) != 1 {
		t.Fatalf("layers: got %+v, want one", m.Layers)
	}
	layer := gunzip(t, blob(t, dir, m.Layers[0], nil))
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); !slices.Equal(c.RootFS.DiffIDs, []string{sum}) {
		t.Errorf("the layer is %s, the configuration names %q", sum, c.RootFS.DiffIDs)
	}
	root := t.TempDir()
	unpack(t, layer, root)
	checkRoots(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	program := filepath.Join(root, c.Config.Entrypoint[0])
	if got := output(t, exec.Command(program, "version")); !bytes.HasPrefix(got, []byte("sotto v1.2.3 (")) {
		t.Errorf("%s", got)
	}
	account := []string{"account", "gaussian(1)", "--delta", "1e-6", "--json"}
	plain := output(t, exec.Command(program, account...))
	if !json.Valid(plain) || !bytes.Contains(plain, []byte("epsilon")) {
		t.Errorf("%s", plain)
	}
	// With nothing but the image around it, where this test may do that.
	alone := exec.Command(c.Config.Entrypoint[0], account...)
	if !confine(alone, root) {
		return
	}
	alone.Env = c.Config.Env
	if got, err := alone.CombinedOutput(); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("in the image alone: %v\n%s", err, got)
	}
}

func read(t *testing.T, path string, v any) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// blob reads what a descriptor describes, and checks that it is that.
func blob(t *testing.T, dir string, d descriptor, v any) []byte {
	t.Helper()
	data := read(t, filepath.Join(dir, "blobs", strings.Replace(d.Digest, ":", "/", 1)), v)
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); sum != d.Digest || len(data) != d.Size {
		t.Fatalf("%s has digest %s and %d bytes, not %d", d.Digest, sum, len(data), d.Size)
	}
	return data
}

// checkRoots: the certificates can be read, and are those of more than a few authorities.
func checkRoots(t *testing.T, path string) {
	t.Helper()
	n := 0
	for rest := read(t, path, nil); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
	}
	if n < 50 {
		t.Errorf("%d authorities", n)
	}
}
