/** An image as one file that registries, Podman and Docker read: an OCI image layout in a tar archive. */
import { createHash } from "node:crypto";
import { compressGzip, makeTar, withFolders } from "../archive.ts";
import type { ArchiveFile } from "../archive.ts";

export interface Image {
  readonly architecture: "amd64" | "arm64";
  /** Name and tag, such as `postern:0.1.0`. */
  readonly reference: string;
  /** Time of the image and of every file in it, seconds since 1970. */
  readonly time: number;
  /** Layers from bottom to top, each with a sentence for the image's history. */
  readonly layers: readonly { readonly about: string; readonly files: readonly ArchiveFile[] }[];
  /** Run configuration: the `config` of the OCI image configuration. */
  readonly run: Readonly<Record<string, unknown>>;
}

export interface Layout {
  readonly archive: Buffer;
  /** Size of the download, bytes: both layers, configuration and manifest. */
  readonly downloadBytes: number;
  /** Digest of the manifest. */
  readonly digest: string;
}

interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
}

const types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
};

export function layoutOf({ architecture, reference, time, layers, run }: Image): Layout {
  const created = new Date(time * 1000).toISOString();
  const tars = layers.map(({ files }) => makeTar(files, time));
  const config = blobOf(
    encodeJson({
      created,
      architecture,
      os: "linux",
      config: run,
      rootfs: { type: "layers", diff_ids: tars.map(digestOf) },
      history: layers.map(({ about }) => ({ created, created_by: about })),
    }),
  );
  const compressed = tars.map((layer) => blobOf(compressGzip(layer)));
  const manifest = blobOf(
    encodeJson({
      schemaVersion: 2,
      mediaType: types.manifest,
      config: makeDescriptor(types.config, config),
      layers: compressed.map((layer) => makeDescriptor(types.layer, layer)),
    }),
  );
  const blobs = [...compressed, config, manifest];
  const [name = "", tag = ""] = reference.split(":");
  const named = {
    ...makeDescriptor(types.manifest, manifest),
    platform: { architecture, os: "linux" },
    // Podman reads one name, and containerd the other.
    annotations: {
      "org.opencontainers.image.ref.name": tag,
      "io.containerd.image.name": `docker.io/library/${reference}`,
    },
  };
  const files = {
    "oci-layout": encodeJson({ imageLayoutVersion: "1.0.0" }),
    "index.json": encodeJson({ schemaVersion: 2, mediaType: types.index, manifests: [named] }),
    // `docker load` reads this file and ignores the index if it does not use containerd's image store.
    "manifest.json": encodeJson([
      { Config: fileOf(config), RepoTags: [`${name}:${tag}`], Layers: compressed.map((layer) => fileOf(layer)) },
    ]),
  };
  const packed = [
    ...blobs.map((blob) => ({ path: fileOf(blob), bytes: blob.bytes })),
    ...Object.entries(files).map(([path, bytes]) => ({ path, bytes })),
  ];
  return {
    archive: makeTar(withFolders(packed), time),
    downloadBytes: blobs.reduce((sum, { bytes }) => sum + bytes.length, 0),
    digest: manifest.digest,
  };
}

function makeDescriptor(mediaType: string, { digest, bytes }: Blob): Readonly<Record<string, unknown>> {
  return { mediaType, digest, size: bytes.length };
}

function fileOf({ digest }: Blob): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function blobOf(bytes: Buffer): Blob {
  return { digest: digestOf(bytes), bytes };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
