import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** @param kind  such as "a PEM file", for the problem */
export function readSettingFile(path: string, kind: string): { text: string } | { problem: string } {
  try {
    return { text: readFileSync(path, "utf8") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { problem: `"${path}" does not exist. Write the path of ${kind}.` };
    return { problem: `"${path}" cannot be read (${code}). Make it readable for the user that runs Dunlin.` };
  }
}

export function readPem(path: string): { pem: string } | { problem: string } {
  const found = readSettingFile(path, "a PEM file");
  if ("problem" in found) return found;
  return found.text.includes("-----BEGIN ") ? { pem: found.text } : { problem: `"${path}" is not a PEM file.` };
}

export function findCertificateProblem(pem: string, realNow: Date): string | null {
  try {
    const { validToDate, subject } = new X509Certificate(pem);
    return validToDate > realNow
      ? null
      : `expired ${validToDate.toISOString().slice(0, 10)} (${subject.replaceAll("\n", " ")}).`;
  } catch {
    return "does not contain a readable certificate.";
  }
}

export function findKeyProblem(cert: string, key: string): string | null {
  try {
    const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    return fits ? null : "is not the private key of the certificate. Write the file of that key.";
  } catch {
    return "does not contain a readable private key. Write the file of a key without a password.";
  }
}
