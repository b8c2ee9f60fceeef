/** `/docs`: the API reference and the pages of `docs/`, as a browser gets them. */
import { expect } from "chai";
import { readPages } from "../../api/docs/pages.js";
import { suiteEndpoints } from "../harness/endpoints.js";

describe("The documentation that is served", () => {
  const endpoints = suiteEndpoints();

  const files: [path: string, type: RegExp][] = [
    ["/docs", /^text\/html/],
    ["/docs/operating.md", /^text\/html/],
    ["/docs/README.md", /^text\/html/],
    ["/docs/providers/stripe", /^text\/html/],
    ["/docs/providers/stripe.md", /^text\/html/],
    ["/docs/reference.js", /^text\/javascript/],
    ["/docs/swagger-ui-bundle.js", /^text\/javascript/],
    ["/docs/swagger-ui.css", /^text\/css/],
    ["/docs/pages.css", /^text\/css/],
  ];
  for (const [path, type] of files) {
    it(`should hold ${path}`, async () => {
      const { headers, status, text } = await endpoints.call(path);
      expect(status).to.equal(200);
      expect(headers.get("content-type")).to.match(type);
      if (!type.test("text/html")) return;
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).to.include("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.to.match(/unsafe|https?:|\*/);
      // Nothing within the page that the policy would not let run, nothing from others.
      expect(text).not.to.match(/<script(?! src="\/docs\/)|<style|\son\w+=|\sstyle=/);
      expect(text).not.to.match(/<(?:link|img|script)[^>]*(?:href|src)="http/);
    });
  }

  for (const path of ["/docs/none.md", "/docs/../config.ts", "/docs/%2e%2e/package.json"]) {
    it(`should hold nothing at ${path}`, async () => {
      expect((await endpoints.call(path)).status).to.equal(404);
    });
  }

  it("should show the pictures of its pages", async () => {
    const pictures = [...readPages().values()].flatMap((page) =>
      [...page.html().matchAll(/<img src="([^"]+)" alt="[^"]+"/g)].map(([, src = ""]) => src),
    );
    expect(new Set(pictures).size).to.be.at.least(6);
    for (const src of pictures) {
      const { headers, status } = await endpoints.call(src);
      expect([status, headers.get("content-type")], src).to.deep.equal([200, "image/png"]);
    }
  });

  it("should link its pages from the reference, and each other where they are", async () => {
    const pages = readPages();
    const { text } = await endpoints.call("/docs");
    for (const path of pages.keys()) {
      const link = `<a href="/docs/${path}">`;
      expect(text.includes(link), path).to.equal(!path.startsWith("decisions/"));
    }
    const broken: string[] = [];
    for (const [path, page] of pages) {
      for (const [, href = ""] of page.html().matchAll(/ href="\/docs\/([^"]+\.md[^"]*)"/g)) {
        const [target = "", anchor] = href.split("#");
        const html = pages.get(target)?.html();
        const isThere = anchor === undefined || html?.includes(` id="${anchor}"`);
        if (html === undefined || !isThere) broken.push(`${path} links ${href}`);
      }
    }
    expect(broken).to.deep.equal([]);
  });
});
