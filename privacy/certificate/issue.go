package certificate

import "errors"

// Issue makes, signs and writes the certificate of a release directory. Without
// Subjects in the claim it covers every file there, so call it last.
func Issue(dir string, c Claim, ev Evaluator, signer *Signer) (*Statement, error) {
	if signer == nil {
		return nil, errors.New("there is no key to sign with: generate one first")
	}
	if err := c.refusal(); err != nil {
		return nil, err
	}
	if len(c.Subjects) == 0 {
		var err error
		if c.Subjects, err = HashFiles(dir); err != nil {
			return nil, err
		}
	}
	s, err := NewStatement(c, ev)
	if err != nil {
		return nil, err
	}
	envelope, err := Sign(s, signer)
	if err != nil {
		return nil, err
	}
	return s, Write(dir, envelope)
}
