import { generateKeyPairSync, sign } from "node:crypto";

/** PEM of a certificate and of its key. */
export interface Identity {
  cert: string;
  key: string;
}

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 128) return Buffer.concat([Buffer.of(tag, content.length), content]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length);
  return Buffer.concat([Buffer.of(tag, 0x82), length, content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const text = (value: string) => der(0x0c, Buffer.from(value));
const time = (at: Date) => der(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]|\..*/g, "")}Z`));

const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));
const SUBJECT = sequence(der(0x31, sequence(oid("550403"), text("receiver of a test"))));
const IS_AUTHORITY = sequence(
  oid("551d13"),
  der(0x01, Buffer.of(0xff)),
  der(0x04, sequence(der(0x01, Buffer.of(0xff)))),
);
const NAMES = sequence(
  oid("551d11"),
  der(
    0x04,
    sequence(
      ...["localhost", "merchant.example"].map((name) => der(0x82, Buffer.from(name))),
      der(0x87, Buffer.of(127, 0, 0, 1)),
      der(0x87, Buffer.from(`${"00".repeat(15)}01`, "hex")),
    ),
  ),
);

/** A self-signed certificate for localhost, merchant.example, 127.0.0.1 and ::1, valid in these bounds. */
export function makeIdentity(notBefore: Date, notAfter: Date): Identity {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ECDSA_WITH_SHA256,
    SUBJECT,
    sequence(time(notBefore), time(notAfter)),
    SUBJECT,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(IS_AUTHORITY, NAMES)),
  );
  const signature = der(0x03, Buffer.of(0), sign("sha256", signed, privateKey));
  const base64 = sequence(signed, ECDSA_WITH_SHA256, signature).toString("base64");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
