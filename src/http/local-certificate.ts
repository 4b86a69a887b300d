import { createPrivateKey, webcrypto, X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { DAY_MS } from "../domain/durations.ts";

export interface LocalCertificate {
  cert: string;
  key: string;
  /** For `curl --cacert`. */
  caFile: string;
  isNew: boolean;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
// Apple's clients refuse certificates that are valid for more than 825 days.
const VALIDITY_DAYS = 800;
const RENEWAL_DAYS = 30;
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "::1"];

/**
 * Returns the certificate for localhost, 127.0.0.1, ::1 and `host`. Creates it in `folder` if it is missing, expires soon or lacks
 * the host.
 *
 * The CA's key is discarded, so that read access to the folder does not allow creating certificates for other names.
 */
export async function ensureLocalCertificate(folder: string, host: string, realNow: Date): Promise<LocalCertificate> {
  const files = { ca: join(folder, "ca.pem"), cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  const hosts = [...new Set([...LOCAL_HOSTS, host.replace(/^\[(.*)\]$/, "$1").toLowerCase()])];
  const stored = await readPems(files);
  if (stored && isUsable(stored, hosts, realNow))
    return { cert: stored.cert, key: stored.key, caFile: files.ca, isNew: false };
  const created = await createPems(hosts, realNow);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // After a crash in between, the files do not match and the next start replaces them.
  await replaceFile(files.key, created.key, 0o600);
  await replaceFile(files.cert, created.cert, 0o644);
  await replaceFile(files.ca, created.ca, 0o644);
  return { cert: created.cert, key: created.key, caFile: files.ca, isNew: true };
}

interface PemPaths {
  ca: string;
  cert: string;
  key: string;
}

async function readPems(files: PemPaths): Promise<PemPaths | null> {
  try {
    const [ca, cert, key] = await Promise.all([files.ca, files.cert, files.key].map((file) => readFile(file, "utf8")));
    return { ca: ca!, cert: cert!, key: key! };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function isUsable(pems: PemPaths, hosts: readonly string[], realNow: Date): boolean {
  try {
    const ca = new X509Certificate(pems.ca);
    const cert = new X509Certificate(pems.cert);
    return (
      cert.verify(ca.publicKey) &&
      cert.checkPrivateKey(createPrivateKey(pems.key)) &&
      cert.validToDate.getTime() - realNow.getTime() > RENEWAL_DAYS * DAY_MS &&
      cert.validFromDate <= realNow &&
      hosts.every((host) => (isIP(host) ? cert.checkIP(host) : cert.checkHost(host)) !== undefined)
    );
  } catch {
    return false; // missing or truncated PEM
  }
}

async function createPems(hosts: readonly string[], realNow: Date): Promise<PemPaths> {
  // Loaded lazily, because most starts find a usable certificate.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const { subtle } = webcrypto;
  const [ca, server] = await Promise.all([1, 2].map(() => subtle.generateKey(CURVE, true, ["sign", "verify"])));
  // Unique, because clients that trusted an earlier CA would confuse the two.
  const issuer = `CN=Dunlin local CA ${realNow.toISOString()}`;
  const common = {
    issuer,
    // For clients whose clocks are behind.
    notBefore: new Date(realNow.getTime() - DAY_MS),
    notAfter: new Date(realNow.getTime() + VALIDITY_DAYS * DAY_MS),
    signingAlgorithm: CURVE,
    signingKey: ca!.privateKey,
  };
  const authorityKey = await x509.AuthorityKeyIdentifierExtension.create(ca!.publicKey);
  const caCertificate = await x509.X509CertificateGenerator.create({
    ...common,
    subject: issuer,
    publicKey: ca!.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(ca!.publicKey),
      authorityKey,
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...common,
    subject: "CN=Dunlin",
    publicKey: server!.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(hosts.map((host) => ({ type: isIP(host) ? "ip" : "dns", value: host }))),
      await x509.SubjectKeyIdentifierExtension.create(server!.publicKey),
      authorityKey,
    ],
  });
  const key = await subtle.exportKey("pkcs8", server!.privateKey);
  return {
    ca: toPem("CERTIFICATE", caCertificate.rawData),
    cert: toPem("CERTIFICATE", certificate.rawData),
    key: toPem("PRIVATE KEY", key),
  };
}

const toPem = (label: string, der: ArrayBuffer) =>
  `-----BEGIN ${label}-----\n${Buffer.from(der)
    .toString("base64")
    .replace(/.{1,64}/g, "$&\n")}-----END ${label}-----\n`;

async function replaceFile(path: string, text: string, mode: number) {
  const fresh = `${path}.new`;
  await writeFile(fresh, text, { mode, flush: true });
  await rename(fresh, path);
}
