import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, CommandFailure, EXIT_CODES } from "./command.ts";

export const trust: Command = {
  name: "trust",
  usage: "",
  summary: "Print how to make this machine and its browsers trust the console's certificate; change nothing",
  options: {},
  positionals: [],
  examples: ["npx dunlin trust"],
  async run({ settings, print }) {
    const { tls, certificate, dataDir, authUrl } = settings;
    if (tls === "proxy")
      print("A proxy in front of Dunlin has the certificate (DUNLIN_TLS=proxy). Browsers must trust its authority.");
    else if (certificate !== null)
      print(
        "DUNLIN_TLS_CERT names the certificate. Browsers must trust the authority that signed it: import that one.",
      );
    else for (const line of trustSteps(join(dataDir, "tls", "ca.pem"), authUrl)) print(line);
    return EXIT_CODES.ok;
  },
};

/** For Linux, macOS, and PowerShell if the path contains no single quote. */
const quoteForShell = (path: string) => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function trustSteps(path: string, consoleUrl: string): string[] {
  if (!existsSync(path)) throw new CommandFailure(`${path} does not exist yet. The first start creates it: npm start`);
  const { fingerprint256, validTo } = new X509Certificate(readFileSync(path));
  const file = quoteForShell(path);
  return [
    `To open ${consoleUrl} without a warning, import this file:`,
    `  ${path}`,
    `  valid until ${new Date(validTo).toISOString().slice(0, 10)}, SHA-256 ${fingerprint256}`,
    "It is the certificate of an authority that signed only this installation's certificate: its private key was discarded.",
    "If the browser runs on another machine, copy the file there first.",
    "",
    "Linux: Chrome, Chromium, Edge (certutil is in the package libnss3-tools or nss-tools)",
    '  mkdir -p "$HOME/.pki/nssdb"',
    `  certutil -d "sql:$HOME/.pki/nssdb" -A -t C,, -n "Dunlin local CA" -i ${file}`,
    "Linux: curl and other programs",
    `  sudo cp ${file} /usr/local/share/ca-certificates/dunlin.crt && sudo update-ca-certificates   (Debian, Ubuntu)`,
    `  sudo trust anchor ${file}   (Fedora, RHEL, Arch)`,
    "macOS: Safari, Chrome, Edge, curl",
    `  security add-trusted-cert -r trustRoot -k "$HOME/Library/Keychains/login.keychain-db" ${file}`,
    "Windows: Chrome, Edge (if Dunlin runs in WSL, run it there)",
    `  certutil.exe -user -addstore Root ${file}`,
    `  certutil.exe -user -addstore Root "$(wslpath -w ${file})"   (WSL)`,
    "Firefox on every system",
    "  Settings > Privacy & Security > Certificates > View Certificates > Authorities > Import: choose the file,",
    '  and tick "Trust this CA to identify websites".',
    "",
    "Restart the browser, then open the console.",
  ];
}
