//! An image by the OCI image specification 1.1, made of files: no daemon, no base.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::bundle::{pack, sha256};
use super::{Release, make_folder};

/// A file by its content, as manifests name it.
fn descriptor(kind: &str, file: &Path) -> anyhow::Result<Value> {
    let bytes = fs::metadata(file).with_context(|| format!("cannot measure {}", file.display()))?.len();
    Ok(json!({ "mediaType": kind, "digest": format!("sha256:{}", sha256(file)?), "size": bytes }))
}

/// An architecture as the specification of images calls it: the names of Go.
fn goarch(architecture: &str) -> &str {
    match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Writes `sidestep-VERSION-ARCHITECTURE-linux.oci.tar`: one layer with /usr, and what to run.
pub(super) fn write(release: &Release) -> anyhow::Result<()> {
    let layout = tempfile::tempdir().context("cannot make a folder for the image")?;
    let blobs = layout.path().join("blobs/sha256");
    make_folder(&blobs)?;
    let scratch = tempfile::tempdir().context("cannot make a folder for its layer")?;
    let [plain, packed] = ["layer.tar", "layer.tar.gz"].map(|name| scratch.path().join(name));
    for archive in [&plain, &packed] {
        pack(release, &release.stage, "./usr", archive)?;
    }
    let add = |kind: &str, file: &Path| -> anyhow::Result<Value> {
        let found = descriptor(kind, file)?;
        fs::copy(file, blobs.join(sha256(file)?)).context("cannot copy a part of the image")?;
        Ok(found)
    };
    let document = |name: &str, kind: &str, content: &Value| -> anyhow::Result<Value> {
        let file = scratch.path().join(name);
        super::write(&file, content.to_string())?;
        add(kind, &file)
    };
    let layer = add("application/vnd.oci.image.layer.v1.tar+gzip", &packed)?;
    let config = json!({
        "architecture": goarch(&release.architecture),
        "os": "linux",
        "config": { "Entrypoint": ["/usr/bin/sidestep"], "Labels": {
            "org.opencontainers.image.title": "sidestep",
            "org.opencontainers.image.version": release.version,
            "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
        } },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&plain)?)] },
    });
    let config = document("config.json", "application/vnd.oci.image.config.v1+json", &config)?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({ "schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer] });
    let mut manifest = document("manifest.json", kind, &manifest)?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest] });
    super::write(&layout.path().join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    super::write(&layout.path().join("index.json"), index.to_string())?;
    pack(release, layout.path(), ".", &release.file("oci.tar"))
}
