import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { loadTemplates, type MessageValues } from "./templates.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-templates-"));
after(() => rmSync(folder, { recursive: true }));
const SHIPPED = join(import.meta.dirname, "texts");
const VALUES: MessageValues = {
  name: "<b>Ada</b> [x](http://evil.example)",
  merchant: "Harbor & Sons",
  amount: "€49.00",
  number: "HC-1",
  card: "Visa …4242",
  payUrl: "https://pay.example/i?a=1&b=2",
  unsubscribeUrl: "https://dunlin.example/unsubscribe/x.y",
};

function folderWith(files: Record<string, string>): string {
  const path = mkdtempSync(join(folder, "set-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(path, name, ".."), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

test("every shipped language has a subject and both links", () => {
  const templates = loadTemplates([SHIPPED]);
  assert.deepEqual(templates.languages.sort(), ["de", "en", "es", "fr"]);
  for (const language of templates.languages) {
    const mail = templates.render(undefined, [language], VALUES);
    assert.equal(mail.language, language);
    for (const part of [mail.text, mail.html]) assert.doesNotMatch(part, /\{\{|xVALUEx|undefined/);
    assert.ok(mail.text.includes(VALUES.payUrl) && mail.text.includes(VALUES.unsubscribeUrl));
    assert.ok(mail.html.includes('href="https://pay.example/i?a=1&amp;b=2"'), mail.html);
    assert.match(mail.subject, /Harbor & Sons/);
  }
});

test("a customer's name is text in the mail, never markup", () => {
  const { html, text } = loadTemplates([SHIPPED]).render(undefined, ["en"], VALUES);
  assert.ok(html.includes("&lt;b&gt;Ada&lt;/b&gt; [x](http://evil.example)"), html);
  assert.ok(!html.includes('href="http://evil.example"'));
  assert.ok(text.includes("Hello <b>Ada</b> [x](http://evil.example),"));
});

test("the language is the customer's region, then language, then English; a brand's own text comes first", () => {
  const own = "Subject: Own {{amount}}\n\n{{payUrl}} {{unsubscribeUrl}}";
  const templates = loadTemplates([
    SHIPPED,
    folderWith({ "card-change.de-AT.md": own.replace("Own", "Servus"), "roast/card-change.en.md": own }),
  ]);
  const subject = (brand: string | undefined, ...languages: string[]) => {
    const mail = templates.render(brand, languages, VALUES);
    return `${mail.language} ${mail.subject.split(" ")[0]}`;
  };
  assert.equal(subject(undefined, "de-AT"), "de-AT Servus");
  assert.equal(subject(undefined, "de-CH"), "de Ihre");
  assert.equal(subject(undefined, "pt-BR", "fr"), "fr Votre");
  assert.equal(subject(undefined, "ja"), "en Your");
  assert.equal(subject("roast", "en-US"), "en Own");
  assert.equal(subject("unknown", "en"), "en Your");
});

test("a card that is not known is named in the mail's language", () => {
  const mail = loadTemplates([SHIPPED]).render(undefined, ["de"], { ...VALUES, card: "" });
  assert.match(mail.text, /wir konnten Ihre Karte oder Ihr Konto für die Rechnung/);
});

test("a template that cannot be used is named with its place", () => {
  const broken = (name: string, text: string) => () => loadTemplates([SHIPPED, folderWith({ [name]: text })]);
  const links = "{{payUrl}} {{unsubscribeUrl}}";
  assert.throws(broken("card-change.en.md", links), /card-change\.en\.md:1: the first line must be "Subject: …"$/);
  assert.throws(
    broken("card-change.en.md", `Subject: x\n\nHi {{nme}} ${links}`),
    /:3: \{\{nme\}\} is not known; use name,/,
  );
  assert.throws(
    broken("card-change.en.md", "Subject: x\n\n{{payUrl}}"),
    /the text must contain \{\{unsubscribeUrl\}\}$/,
  );
  assert.throws(
    broken("card-change.en.md", `Subject: x\n\n{{card}} ${links}`),
    /:2: the second line must be "Card: …"/,
  );
  assert.throws(broken("card.md", `Subject: x\n${links}`), /card\.md: the name must be like card-change\.en\.md/);
  assert.throws(() => loadTemplates([join(folder, "nowhere")]), /nowhere does not exist/);
  assert.throws(() => loadTemplates([folderWith({})]), /there is no card-change\.en\.md/);
});
