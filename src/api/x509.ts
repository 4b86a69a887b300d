import { createHash, type KeyObject, sign } from "node:crypto";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

// Just enough DER (X.690) for the two certificates of RFC 5280 that a local HTTPS server needs.

const tlv = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
};

const lengthOf = ({ length }: Buffer) =>
  Buffer.from(length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]);

const sequence = (...parts: Buffer[]) => tlv(0x30, ...parts);
const octets = (...parts: Buffer[]) => tlv(0x04, ...parts);
const TRUE = tlv(0x01, Buffer.from([0xff]));

function oid(text: string) {
  const [first, second, ...rest] = text.split(".").map(Number);
  const bytes = [first! * 40 + second!];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tlv(0x06, Buffer.from(bytes));
}

const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const name = (commonName: string) => sequence(tlv(0x31, sequence(oid("2.5.4.3"), tlv(0x0c, Buffer.from(commonName)))));

/** UTCTime up to 2049, GeneralizedTime from then on, as RFC 5280 wants it. */
function time(at: Date) {
  const text = `${at.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  return at.getUTCFullYear() < 2050 ? tlv(0x17, Buffer.from(text.slice(2))) : tlv(0x18, Buffer.from(text));
}

export interface CertificateRequest {
  /** 16 random bytes. */
  serialNumber: Buffer;
  subject: string;
  issuer: string;
  notBefore: Date;
  notAfter: Date;
  publicKey: KeyObject;
  issuerPublicKey: KeyObject;
  issuerPrivateKey: KeyObject;
  /** Names and addresses of a server; none makes it a CA for end certificates. */
  hosts: readonly string[];
}

/** A certificate as PEM. Keys are ECDSA P-256. */
export function certificatePem(request: CertificateRequest): string {
  const { serialNumber, subject, issuer, notBefore, notAfter, publicKey, issuerPrivateKey } = request;
  const serial = Buffer.from(serialNumber);
  serial[0] = (serial[0]! & 0x3f) | 0x40; // positive, and no leading zero byte
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))), // version 3
    tlv(0x02, serial),
    ECDSA_WITH_SHA256,
    name(issuer),
    sequence(time(notBefore), time(notAfter)),
    name(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(...extensions(request))),
  );
  const signature = sign("sha256", body, issuerPrivateKey);
  const der = sequence(body, ECDSA_WITH_SHA256, bits(0, signature));
  const lines = der.toString("base64").match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

const bits = (unused: number, content: Buffer) => tlv(0x03, Buffer.from([unused]), content);

function extensions({ hosts, publicKey, issuerPublicKey }: CertificateRequest): Buffer[] {
  const isCa = hosts.length === 0;
  const identifiers = [
    sequence(oid("2.5.29.14"), octets(octets(keyIdentifier(publicKey)))),
    sequence(oid("2.5.29.35"), octets(sequence(tlv(0x80, keyIdentifier(issuerPublicKey))))),
  ];
  const constraints = isCa ? sequence(TRUE, tlv(0x02, Buffer.from([0]))) : sequence();
  const basicConstraints = sequence(oid("2.5.29.19"), TRUE, octets(constraints));
  if (isCa) return [basicConstraints, keyUsage(1, 0b0000_0110), ...identifiers]; // keyCertSign, cRLSign
  const names = hosts.map((host) =>
    isIP(host) ? tlv(0x87, Buffer.from(ipaddr.parse(host).toByteArray())) : tlv(0x82, Buffer.from(host)),
  );
  const serverAuth = sequence(oid("2.5.29.37"), octets(sequence(oid("1.3.6.1.5.5.7.3.1"))));
  const alternativeNames = sequence(oid("2.5.29.17"), octets(sequence(...names)));
  return [basicConstraints, keyUsage(7, 0b1000_0000), serverAuth, alternativeNames, ...identifiers]; // digitalSignature
}

const keyUsage = (unused: number, flags: number) =>
  sequence(oid("2.5.29.15"), TRUE, octets(bits(unused, Buffer.from([flags]))));

const POINT_BYTES = 65;

/** SHA-1 of the public point, the first method of RFC 5280 4.2.1.2; it only names the key. */
const keyIdentifier = (key: KeyObject) =>
  createHash("sha1")
    .update(key.export({ type: "spki", format: "der" }).subarray(-POINT_BYTES))
    .digest();
