import { createPrivateKey, webcrypto, X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { DAY_MS } from "../domain/durations.ts";

/** PEM texts, and the file that clients give as `--cacert`. */
export interface LocalCertificate {
  cert: string;
  key: string;
  caFile: string;
  /** False when the one that was there is still good. */
  made: boolean;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
// Apple's clients refuse more than 825 days.
const VALIDITY_DAYS = 800;
const RENEWAL_DAYS = 30;
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "::1"];

/**
 * The certificate for localhost, 127.0.0.1, ::1 and `host`, made in `folder` when it is not there, is about to expire, or
 * lacks the host. Its CA signs this one certificate and its key is thrown away, so that nobody who reads the folder can
 * make certificates for other names that a machine would trust.
 *
 * @param realNow  real time: certificates know no other
 */
export async function ensureLocalCertificate(folder: string, host: string, realNow: Date): Promise<LocalCertificate> {
  const files = { ca: join(folder, "ca.pem"), cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  const hosts = [...new Set([...LOCAL_HOSTS, host.replace(/^\[(.*)\]$/, "$1").toLowerCase()])];
  const kept = await readPems(files);
  if (kept && isUsable(kept, hosts, realNow)) return { cert: kept.cert, key: kept.key, caFile: files.ca, made: false };
  const made = await createPems(hosts, realNow);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The key first and the CA last: a start that is cut short leaves pieces that do not fit, and the next one makes all anew.
  await replaceFile(files.key, made.key, 0o600);
  await replaceFile(files.cert, made.cert, 0o644);
  await replaceFile(files.ca, made.ca, 0o644);
  return { cert: made.cert, key: made.key, caFile: files.ca, made: true };
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
    return false; // no certificate at all, or half of one
  }
}

async function createPems(hosts: readonly string[], realNow: Date): Promise<PemPaths> {
  // Loaded here, because nearly every start finds a certificate that is good. The first makes the second work.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const { subtle } = webcrypto;
  const [ca, server] = await Promise.all([1, 2].map(() => subtle.generateKey(CURVE, true, ["sign", "verify"])));
  // A name of its own each time, or clients that trusted a former authority mix the two up.
  const issuer = `CN=Dunlin local CA ${realNow.toISOString()}`;
  const common = {
    issuer,
    // A day back, for clients whose clocks are behind.
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
