import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** PEM of a certificate and its key. */
export interface CertifiedIdentity {
  cert: string;
  key: string;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/**
 * Creates a self-signed certificate for test servers, for localhost, merchant.example, 127.0.0.1 and ::1, valid in these bounds.
 */
export async function createSelfSignedCertificate(
  notBefore = new Date("2025-01-01T00:00:00Z"),
  notAfter = new Date("2049-01-01T00:00:00Z"),
): Promise<CertifiedIdentity> {
  const keys = await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=server of a test",
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: CURVE,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      // All certificates have the same name, so a process that trusts several finds the right one by its key.
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
      new x509.SubjectAlternativeNameExtension([
        { type: "dns", value: "localhost" },
        { type: "dns", value: "merchant.example" },
        { type: "ip", value: "127.0.0.1" },
        { type: "ip", value: "::1" },
      ]),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/.{1,64}/g, "$&\n")}-----END PRIVATE KEY-----\n`,
  };
}
