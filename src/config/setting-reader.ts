import { findCertificateProblem, findKeyProblem, readPem } from "./pem-files.ts";
import { SETTING_NAMES, suggestByParts } from "./setting-names.ts";
import { suggestName } from "./suggest-name.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingProblem {
  name: string;
  problem: string;
}

export type SettingReader = ReturnType<typeof createSettingReader>;

/** Collects all problems instead of stopping at the first. Blank settings count as missing. */
export function createSettingReader(environment: Environment, realNow: Date) {
  const problems: SettingProblem[] = [];
  const report = (name: string, problem: string) => problems.push({ name, problem });
  const text = (name: string) => environment[name]?.trim() || null;

  const number = (name: string, fallback: number | null, accepts: (n: number) => boolean, expected: string) => {
    const value = text(name);
    if (value === null) return fallback;
    if (/^\d+(\.\d+)?$/.test(value) && accepts(Number(value))) return Number(value);
    report(name, `"${value}" is not ${expected}.`);
    return fallback;
  };

  const url = (name: string, fallback: string, schemes: readonly string[]) => {
    const value = text(name);
    if (value === null) return fallback;
    if (hasScheme(value, schemes)) return value.replace(/\/+$/, "");
    // The value may contain a password, so it is not repeated.
    report(name, `is not a URL that begins with ${schemes.map((s) => `${s}//`).join(" or ")}.`);
    return fallback;
  };

  const pemFile = (name: string) => {
    const path = text(name);
    if (path === null) return null;
    const result = readPem(path);
    if ("pem" in result) return result.pem;
    report(name, result.problem);
    return null;
  };

  const certificate = (certName: string, keyName: string, advice: string) => {
    const [cert, key] = [pemFile(certName), pemFile(keyName)];
    reportMissingHalf(certName, keyName);
    const certProblem = cert === null ? null : findCertificateProblem(cert, realNow);
    if (certProblem !== null) report(certName, `${certProblem} ${advice}`);
    if (cert === null || key === null) return null;
    const keyProblem = certProblem === null ? findKeyProblem(cert, key) : null;
    if (keyProblem !== null) report(keyName, keyProblem);
    return { cert, key };
  };

  const reportMissingHalf = (one: string, other: string) => {
    if ((text(one) === null) !== (text(other) === null))
      report(text(one) === null ? one : other, "is missing: set both or neither.");
  };

  return { problems, report, text, number, url, pemFile, certificate, reportMissingHalf };
}

export function reportUnknownSettings(environment: Environment, report: SettingReader["report"]) {
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("DUNLIN_") || SETTING_NAMES.includes(name)) continue;
    const suggestion = suggestName(name, SETTING_NAMES) || suggestByParts(name);
    report(name, `is not a setting.${suggestion} docs/reference/settings.md lists them.`);
  }
}

/** A PostgreSQL URL may have no host, so it may be no URL in the strict sense. */
const hasScheme = (value: string, schemes: readonly string[]) =>
  schemes.some((scheme) => value.startsWith(`${scheme}//`)) && (schemes.includes("postgres:") || URL.canParse(value));
