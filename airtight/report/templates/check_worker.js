// Runs check.py under Pyodide. A worker that a page makes from text cannot be a module where the page was opened as a file, and Pyodide
// asks for a worker of modules: importScripts is hidden from it, and its files are handed to it instead of being fetched.
importScripts = () => { throw new TypeError("not here"); };
const PYTHON = `
import contextlib, hashlib, io, json, re, shutil, sys
from pathlib import Path

sys.path.insert(0, "/checker")
import check

def answer(request):
    name, files, sums, fit = (request[key] for key in ("name", "files", "sums", "fit"))
    if fit:
        digest = hashlib.sha256(files["claim.json"].encode()).hexdigest()
        files = {each: re.sub('("claim_sha256": *)"[0-9a-f]*"', rf'\\1"{digest}"', text) for each, text in files.items()}
        sums = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}/{each}\\n" for each, text in files.items())
    folder = Path("/certificates")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / name).mkdir(parents=True)
    for each, text in files.items():
        (folder / name / each).write_bytes(text.encode())
    (folder / "SHA256SUMS").write_text(sums)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = check.main(folder)
    return json.dumps([code, said.getvalue()])

lambda request: answer(json.loads(request))
`;
let answer;
async function start(files, checker) {
  const last = (url) => String(url).split("/").pop();
  fetch = async (url) => new Response(files[last(url)], { headers: { "Content-Type": last(url).endsWith(".wasm") ? "application/wasm" : "" } });
  const imported = (name) => import(URL.createObjectURL(new Blob([files[name]], { type: "text/javascript" })));
  const { loadPyodide } = await imported("pyodide.mjs");
  const { default: createPyodideModule } = await imported("pyodide.asm.mjs");
  const lockFileContents = JSON.parse(await files["pyodide-lock.json"].text());
  const pyodide = await loadPyodide({ indexURL: "https://pyodide.invalid/", createPyodideModule, lockFileContents });
  pyodide.FS.mkdir("/checker");
  pyodide.FS.writeFile("/checker/check.py", checker);
  answer = pyodide.runPython(PYTHON);
}
onmessage = async ({ data: { number, files, checker, request } }) => {
  try {
    if (files) await start(files, checker);
    postMessage({ number, found: request ? JSON.parse(answer(JSON.stringify(request))) : null });
  } catch (error) {
    postMessage({ number, fault: String(error) });
  }
};
