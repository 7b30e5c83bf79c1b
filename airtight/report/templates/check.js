(() => {
  "use strict";
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("data").textContent), names = Object.keys(data.files), kinds = ["rebuilt", "rejected"];
  let loaded, worker, sent = 0, waiting = new Map(), turn = 0;

  const unpacked = (text) => new Response(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))])
    .stream().pipeThrough(new DecompressionStream("gzip"))).blob();

  // Pyodide's files, once: from the script beside this page
  const pyodide = () => loaded ??= new Promise((resolve, reject) => {
    const tag = document.createElement("script");
    tag.src = "pyodide.js";
    tag.onload = async () => {
      try {
        resolve(Object.fromEntries(await Promise.all(Object.entries(pyodideFiles).map(async ([name, text]) => [name, await unpacked(text)]))));
      } catch (error) { reject(error); }
    };
    tag.onerror = () => reject(new Error("pyodide.js beside this page cannot be loaded"));
    document.head.append(tag);
  });

  const ask = (message) => new Promise((resolve, reject) => {
    waiting.set(++sent, [resolve, reject]);
    worker.postMessage({ number: sent, ...message });
  });

  async function started() {
    if (worker) return;
    at("progress").textContent = "Python starts ...";
    const files = await pyodide();
    worker = new Worker(URL.createObjectURL(new Blob([at("worker").textContent], { type: "text/javascript" })));
    worker.onmessage = ({ data: { number, found, fault } }) => {
      const [resolve, reject] = waiting.get(number);
      waiting.delete(number);
      if (fault) reject(new Error(fault)); else resolve(found);
    };
    worker.onerror = (event) => { for (const [, reject] of waiting.values()) reject(new Error(event.message || "the worker ended")); };
    await ask({ files, checker: data.check });
    at("progress").textContent = "Python runs in this page.";
  }

  const listed = (name) => data.sums.split("\n").filter((line) => line.slice(66).startsWith(`${name}/`)).map((line) => `${line}\n`).join("");

  // What check.py says of one certificate, shown in a cell or a paragraph
  async function check(name, place, files = data.files[name], fit = false) {
    place.classList.remove(...kinds);
    place.textContent = "...";
    await started();
    const [code, said] = await ask({ request: { name, files, sums: listed(name), fit } });
    const lines = said.trim().split("\n").slice(0, -1).filter((line) => !line.endsWith("every file is as listed"));
    place.classList.add(kinds[code ? 1 : 0]);
    place.textContent = code === 0 ? `rebuilt: ${lines[0].slice(name.length + 2)}` : `rejected: ${lines.filter((line) => /: (REJECTED|MALFORMED): /.test(line)).join("; ")}`;
    return code;
  }

  const cell = (name) => at(name).cells[3];

  async function run(chosen) {
    const mine = ++turn;
    const count = [0, 0];
    at("stop").disabled = false;
    try {
      for (const name of chosen) {
        count[await check(name, cell(name)) ? 1 : 0] += 1;
        if (mine !== turn) return;
        at("progress").textContent = `${count[0]} of ${chosen.length} rebuilt, ${count[1]} rejected`;
      }
    } catch (error) {
      if (mine === turn) at("progress").textContent = `The check cannot run here: ${error.message}`;
    }
    at("stop").disabled = true;
  }

  function stop() {
    turn += 1;
    worker?.terminate();
    worker = undefined;
    waiting = new Map();
    for (const name of names) if (cell(name).textContent === "...") cell(name).textContent = "";
    at("progress").textContent = "stopped";
    at("stop").disabled = true;
  }

  function choose(name, file) {
    at("claim").value = name;
    at("file").replaceChildren(...Object.keys(data.files[name]).map((each) => new Option(each)));
    if (file) at("file").value = file;
    at("text").value = data.files[name][at("file").value];
    at("verdict").textContent = "";
    at("verdict").classList.remove(...kinds);
  }

  async function attempt() {
    const name = at("claim").value, files = { ...data.files[name], [at("file").value]: at("text").value };
    at("stop").disabled = false;
    try {
      await check(name, at("verdict"), files, at("fit").checked);
    } catch (error) {
      at("verdict").textContent = `The check cannot run here: ${error.message}`;
    }
    at("stop").disabled = true;
  }

  at("all").addEventListener("click", () => run(names));
  at("stop").addEventListener("click", stop);
  at("try").addEventListener("click", attempt);
  at("restore").addEventListener("click", () => choose(at("claim").value, at("file").value));
  at("claim").addEventListener("change", () => choose(at("claim").value));
  at("file").addEventListener("change", () => choose(at("claim").value, at("file").value));
  at("upload").addEventListener("change", async () => { if (at("upload").files.length) at("text").value = await at("upload").files[0].text(); });
  for (const button of document.querySelectorAll("[data-check]")) button.addEventListener("click", () => run([button.dataset.check]));
  for (const button of document.querySelectorAll("[data-change]")) {
    button.addEventListener("click", () => {
      const { change } = button.dataset;
      choose(change, Object.keys(data.files[change]).at(-1));
      at("text").focus();
      at("change").scrollIntoView();
    });
  }
  choose(names[0]);
})();
