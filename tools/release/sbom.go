package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// ownLicence is that of the program itself.
const ownLicence = "Apache-2.0"

// SPDX 2.3: https://spdx.github.io/spdx-spec/v2.3/
type (
	spdxDocument struct {
		Version           string             `json:"spdxVersion"`
		DataLicense       string             `json:"dataLicense"`
		ID                string             `json:"SPDXID"`
		Name              string             `json:"name"`
		DocumentNamespace string             `json:"documentNamespace"`
		CreationInfo      spdxCreation       `json:"creationInfo"`
		Packages          []spdxPackage      `json:"packages"`
		Relationships     []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		Name             string         `json:"name"`
		ID               string         `json:"SPDXID"`
		Version          string         `json:"versionInfo"`
		Purpose          string         `json:"primaryPackagePurpose"`
		Supplier         string         `json:"supplier"`
		DownloadLocation string         `json:"downloadLocation"`
		FilesAnalyzed    bool           `json:"filesAnalyzed"`
		Checksums        []spdxChecksum `json:"checksums,omitempty"`
		SourceInfo       string         `json:"sourceInfo,omitempty"`
		LicenseConcluded string         `json:"licenseConcluded"`
		LicenseDeclared  string         `json:"licenseDeclared"`
		Copyright        string         `json:"copyrightText"`
		ExternalRefs     []spdxRef      `json:"externalRefs"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

const (
	spdxUnknown = "NOASSERTION"
	spdxProgram = "SPDXRef-Program"
)

// sbom lists what is inside a program, by what the linker recorded in it.
func sbom(src *source, p program, licences *licenceReader) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(p.data))
	if err != nil {
		return nil, err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(p.data))
	name := fmt.Sprintf("sotto_%s_%s_%s", src.version, p.system, p.arch)
	doc := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		DocumentNamespace: "https://github.com/sotto-dp/sotto/spdx/" + name + "-" + sum,
		CreationInfo:      spdxCreation{src.date.Format(time.RFC3339), []string{"Tool: github.com/sotto-dp/sotto/tools/release"}},
		Relationships:     []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", spdxProgram}},
	}
	own := spdxPackage{
		Name: "sotto", ID: spdxProgram, Version: src.version, Purpose: "APPLICATION", Supplier: spdxUnknown,
		DownloadLocation: "git+https://github.com/sotto-dp/sotto@" + src.commit,
		Checksums:        []spdxChecksum{{"SHA256", sum}},
		LicenseConcluded: ownLicence, LicenseDeclared: ownLicence, Copyright: spdxUnknown,
		ExternalRefs: []spdxRef{purl("github.com/sotto-dp/sotto", src.version)},
	}
	doc.Packages = append(doc.Packages, own)
	parts := append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for _, m := range parts {
		if m.Replace != nil {
			m = m.Replace
		}
		licence, err := licences.of(src.root, m)
		if err != nil {
			return nil, err
		}
		part := spdxPackage{
			Name: m.Path, ID: "SPDXRef-" + spdxName.ReplaceAllString(m.Path+"-"+m.Version, "-"), Version: m.Version,
			Purpose: "LIBRARY", Supplier: spdxUnknown, DownloadLocation: spdxUnknown,
			LicenseConcluded: spdxUnknown, LicenseDeclared: licence, Copyright: spdxUnknown,
			ExternalRefs: []spdxRef{purl(m.Path, m.Version)},
		}
		if m.Sum != "" {
			part.SourceInfo = "the module's checksum in go.sum is " + m.Sum
		}
		doc.Packages = append(doc.Packages, part)
		doc.Relationships = append(doc.Relationships, spdxRelationship{spdxProgram, "DEPENDS_ON", part.ID})
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// spdxName are runs of what an SPDX identifier may not have.
var spdxName = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// purl names a module as vulnerability databases do.
func purl(path, version string) spdxRef {
	return spdxRef{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}
}
