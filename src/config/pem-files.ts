import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** The text of a file that a setting names, or what is wrong with it in words. `kind`: "a PEM file". */
export function readSettingFile(path: string, kind: string): { text: string } | { problem: string } {
  try {
    return { text: readFileSync(path, "utf8") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { problem: `"${path}" does not exist. Write the path of ${kind}.` };
    return { problem: `"${path}" cannot be read (${code}). Let the user that runs dunlin read it.` };
  }
}

/** What a PEM file holds, or what is wrong with it in words. */
export function readPem(path: string): { pem: string } | { problem: string } {
  const found = readSettingFile(path, "a PEM file");
  if ("problem" in found) return found;
  return found.text.includes("-----BEGIN ") ? { pem: found.text } : { problem: `"${path}" is not a PEM file.` };
}

/** What is wrong with a certificate, in words; null: nothing. */
export function findCertificateProblem(pem: string, realNow: Date): string | null {
  try {
    const { validToDate, subject } = new X509Certificate(pem);
    return validToDate > realNow
      ? null
      : `expired ${validToDate.toISOString().slice(0, 10)} (${subject.replaceAll("\n", " ")}).`;
  } catch {
    return "holds no certificate that can be read.";
  }
}

/** What is wrong with the key of a certificate, in words; null: nothing. */
export function findKeyProblem(cert: string, key: string): string | null {
  try {
    const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    return fits
      ? null
      : "is not the key of the certificate. Write the file of the key that the certificate was made for.";
  } catch {
    return "holds no key that can be read. Write the file of a private key that needs no password.";
  }
}
