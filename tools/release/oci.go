package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The image format's names: https://github.com/opencontainers/image-spec, version 1.1.
const (
	ociIndex    = "application/vnd.oci.image.index.v1+json"
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.image.config.v1+json"
	ociLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// ociUser is whom the program runs as in the image: nobody who is anybody on the host.
const ociUser = 65532

type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *imagePlatform    `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	imagePlatform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	manifest struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Config        *descriptor       `json:"config,omitempty"`
		Layers        []descriptor      `json:"layers,omitempty"`
		Manifests     []descriptor      `json:"manifests,omitempty"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}
	imageConfig struct {
		Created string `json:"created"`
		imagePlatform
		Config struct {
			User       string            `json:"User"`
			Env        []string          `json:"Env"`
			Entrypoint []string          `json:"Entrypoint"`
			Cmd        []string          `json:"Cmd"`
			WorkingDir string            `json:"WorkingDir"`
			Labels     map[string]string `json:"Labels"`
		} `json:"config"`
		RootFS struct {
			Type    string   `json:"type"`
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
		History []imageHistory `json:"history"`
	}
	imageHistory struct {
		Created   string `json:"created"`
		CreatedBy string `json:"created_by"`
	}
)

// layout is an image layout: blobs by their digest.
type layout struct{ files []file }

// blob stores data and describes it.
func (l *layout) blob(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.files = append(l.files, file{name: "blobs/sha256/" + sum, mode: 0o644, data: data})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

// encoded stores a value as JSON.
func (l *layout) encoded(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.blob(mediaType, data), err
}

// ociImage makes an image for the platforms of the programs, as a tar archive of an image layout.
func ociImage(src *source, programs []program) ([]byte, error) {
	about := map[string]string{
		"org.opencontainers.image.title":    "sotto",
		"org.opencontainers.image.version":  src.version,
		"org.opencontainers.image.revision": src.commit,
		"org.opencontainers.image.created":  stamp(src),
		"org.opencontainers.image.source":   "https://github.com/sotto-dp/sotto",
		"org.opencontainers.image.licenses": ownLicence,
	}
	l := &layout{}
	all := manifest{SchemaVersion: 2, MediaType: ociIndex, Annotations: about}
	for _, p := range programs {
		d, err := l.image(src, p, about)
		if err != nil {
			return nil, err
		}
		all.Manifests = append(all.Manifests, d)
	}
	// One entry, the index of the platforms, has the name by which tools find it.
	inner, err := l.encoded(ociIndex, all)
	if err != nil {
		return nil, err
	}
	inner.Annotations = map[string]string{"org.opencontainers.image.ref.name": src.version}
	index, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: ociIndex, Manifests: []descriptor{inner}})
	if err != nil {
		return nil, err
	}
	return tarOf(append(l.files,
		file{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		file{name: "index.json", mode: 0o644, data: index},
	), "", src.date)
}

// image adds the image of one platform.
func (l *layout) image(src *source, p program, about map[string]string) (descriptor, error) {
	plain, err := tarOf(rootfs(p), "", src.date)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := compress(plain)
	if err != nil {
		return descriptor{}, err
	}
	c := imageConfig{Created: stamp(src), imagePlatform: imagePlatform{p.arch, p.system}}
	c.Config.User = fmt.Sprintf("%d:%d", ociUser, ociUser)
	c.Config.Env = []string{"PATH=/usr/bin", "HOME=/home/sotto"}
	c.Config.Entrypoint = []string{"/usr/bin/sotto"}
	c.Config.Cmd = []string{"--help"}
	c.Config.WorkingDir = "/home/sotto"
	c.Config.Labels = about
	c.RootFS.Type = "layers"
	c.RootFS.DiffIDs = []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain))}
	c.History = []imageHistory{{stamp(src), "make release"}}
	config, err := l.encoded(ociConfig, c)
	if err != nil {
		return descriptor{}, err
	}
	layer := l.blob(ociLayer, packed)
	d, err := l.encoded(ociManifest, manifest{SchemaVersion: 2, MediaType: ociManifest, Config: &config, Layers: []descriptor{layer}, Annotations: about})
	d.Platform = &imagePlatform{p.arch, p.system}
	return d, err
}

// rootfs is all that is in the image: the program, a user with a home, a folder for temporary files,
// and the certificates that TLS is checked by.
func rootfs(p program) []file {
	return []file{
		{name: "usr/bin/sotto", mode: 0o755, data: p.data},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/nologin\nsotto:x:%d:%[1]d:sotto:/home/sotto:/nologin\n", ociUser)},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nsotto:x:%d:\n", ociUser)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots()},
		{name: "home/sotto/", mode: 0o700, uid: ociUser},
		{name: "tmp/", mode: 0o777 | fs.ModeSticky},
	}
}

// roots are Mozilla's certificate authorities, in the version that go.mod pins. Those that are
// trusted under conditions are left out: a file cannot state the conditions.
func roots() []byte {
	var b bytes.Buffer
	for r := range bundle.Roots() {
		if r.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate})
		}
	}
	return b.Bytes()
}

// stamp is the release's time as documents write it.
func stamp(src *source) string { return src.date.Format("2006-01-02T15:04:05Z") }
