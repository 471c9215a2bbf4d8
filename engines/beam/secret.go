package beam

import (
	"context"
	"crypto/hpke"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// mailbox is how exact sums get from the workers to the driver that adds noise. Beam has
// no way back but a file, so they are sealed to a key pair that the driver makes for one
// job and keeps (HPKE, RFC 9180, with ML-KEM-768 and X25519). The public half travels in
// the job graph; reading the graph and the file reveals nothing.
type mailbox struct {
	Path   string `json:"path"`
	Public []byte `json:"public"`
}

const sealInfo = "sotto/beam/sums/1"

func newMailbox(path string) (mailbox, hpke.PrivateKey, error) {
	k, err := hpke.MLKEM768X25519().GenerateKey()
	if err != nil {
		return mailbox{}, nil, fmt.Errorf("make a key pair for the sums: %w", err)
	}
	return mailbox{Path: path, Public: k.PublicKey().Bytes()}, k, nil
}

// post seals data and writes it. Anyone who posts again, because a bundle is run again,
// writes the same content in another envelope.
func (m mailbox) post(ctx context.Context, data []byte) error {
	pub, err := hpke.MLKEM768X25519().NewPublicKey(m.Public)
	if err != nil {
		return fmt.Errorf("the job's public key is damaged, start the job again: %w", err)
	}
	sealed, err := hpke.Seal(pub, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealInfo), data)
	if err != nil {
		return fmt.Errorf("seal the sums: %w", err)
	}
	return writeFile(ctx, m.Path, sealed)
}

func (m mailbox) fetch(ctx context.Context, k hpke.PrivateKey) ([]byte, error) {
	sealed, err := readFile(ctx, m.Path)
	if err != nil {
		return nil, fmt.Errorf("the pipeline ended and its sums cannot be read: choose a scratch folder that workers can write and this program can read: %w", err)
	}
	data, err := hpke.Open(k, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealInfo), sealed)
	if err != nil {
		return nil, fmt.Errorf("%s was not written by this job, or is damaged: use a scratch folder of the job's own: %w", m.Path, err)
	}
	return data, nil
}

// keyFile is where workers read the key of sampling and perturbing. The job graph has the
// path alone: runners show graphs, log them and keep them.
type keyFile string

func (f keyFile) write(ctx context.Context, k noise.Key) error {
	data, err := k.Export()
	if err != nil {
		return fmt.Errorf("write the key for the workers: %w", err)
	}
	return writeFile(ctx, string(f), data)
}

func (f keyFile) read(ctx context.Context) (noise.Key, error) {
	data, err := readFile(ctx, string(f))
	if err != nil {
		return noise.Key{}, fmt.Errorf("a worker cannot read the job's key: choose a scratch folder that workers can read: %w", err)
	}
	return noise.ImportKey(data)
}

// here reports whether a path is of this machine's own file system.
func here(path string) bool { return !strings.Contains(path, "://") }

// writeFile writes a file as a whole: somebody who reads it while it is written anew sees
// one version or the other.
func writeFile(ctx context.Context, path string, data []byte) error {
	w, err := create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.discard(ctx))
	}
	return w.keep(ctx)
}

func readFile(ctx context.Context, path string) ([]byte, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	r, err := fs.OpenRead(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// removeFile removes a file if it is there.
func removeFile(ctx context.Context, path string) error {
	if here(path) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	r, ok := fs.(filesystem.Remover)
	if !ok {
		return fmt.Errorf("files of this kind of storage cannot be removed from here: remove %s", path)
	}
	return r.Remove(ctx, path)
}
