import { generateKeyPairSync, sign } from "node:crypto";

/**
 * A self-signed certificate for localhost and 127.0.0.1, in PEM.
 *
 * Written out in DER here, because the SDK and its tests depend on nothing and Node can read certificates but not make them.
 */
export function selfSignedCertificate() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(0x30, objectId(ECDSA_WITH_SHA256));
  const name = der(0x30, der(0x31, der(0x30, objectId(COMMON_NAME), der(0x0c, Buffer.from("localhost")))));
  const years = der(0x30, der(0x17, Buffer.from("250101000000Z")), der(0x17, Buffer.from("490101000000Z")));
  const names = der(0x30, der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(0xa3, der(0x30, der(0x30, objectId(SUBJECT_ALT_NAME), der(0x04, names))));
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    years,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    extensions,
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  const base64 = der(0x30, body, algorithm, signature)
    .toString("base64")
    .match(/.{1,64}/g)!
    .join("\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME = [0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME = [0x55, 0x1d, 0x11];

const objectId = (bytes: number[]) => der(0x06, Buffer.from(bytes));

/** Tag, length, contents. */
function der(tag: number, ...parts: Buffer[]) {
  const contents = Buffer.concat(parts);
  const size = contents.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), contents]);
}
