"use strict";

// What a report does beyond standing still: values on hover, another horizontal axis, sorted tables,
// downloads, a film of the rounds, and the theme. Without this script the page shows the same figures.
//
// Text reaches the page as text only (textContent, attributes), never as markup. Nothing is fetched
// and nothing is stored.

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** An element with attributes, text or children, and a listener for clicks. */
  function make(tag, attributes = {}, content = "", onclick = null) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (Array.isArray(content)) element.append(...content);
    else element.textContent = content;
    if (onclick) element.addEventListener("click", onclick);
    return element;
  }

  function button(text, title, onclick) {
    return make("button", { type: "button", title }, text, onclick);
  }

  /** A number for people: four significant digits, as the tables have them. */
  function figure(value) {
    if (Number.isNaN(value)) return "–";
    const minus = value < 0 ? "\u2212" : "";
    if (!Number.isFinite(value)) return minus + "∞";
    const [mantissa, power] = Math.abs(value).toExponential(3).split("e");
    if (value !== 0 && (power < -3 || power > 5)) {
      return `${minus}${Number(mantissa)}e${power.replace("+", "").replace("-", "\u2212")}`;
    }
    const [whole, fraction] = String(Number(Math.abs(value).toPrecision(4))).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return minus + grouped + (fraction ? "." + fraction : "");
  }

  // ---- The box that follows the pointer ----

  const tip = make("div", { class: "tip", role: "status", hidden: "" });
  document.body.append(tip);

  /** Shows lines beside a point of the window, inside of it whatever its size. */
  function showTip(lines, x, y) {
    tip.replaceChildren(...lines);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 4))}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  // Titles become ours, since the browser would show its own box above this one.
  for (const title of document.querySelectorAll("figure svg title")) {
    title.parentElement.dataset.told = title.textContent;
    title.remove();
  }
  // A drawing as a whole is told by its label.
  for (const svg of document.querySelectorAll("figure svg")) delete svg.dataset.told;

  function told(target) {
    return target.closest("[data-told]")?.dataset.told;
  }

  // ---- Values of curves ----

  /** The corners of a path of straight lines. */
  function corners(path) {
    const numbers = path.getAttribute("d").match(/-?[\d.]+/g).map(Number);
    return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
  }

  /** The places along x of a line's corners, or that of a dot. */
  function placesOf(element) {
    if (element.matches("circle")) return [Number(element.getAttribute("cx"))];
    return corners(element).map(([x]) => x);
  }

  /** Reads a plot back from its drawing: for each series that has any its points by their places. */
  function readPlot(svg) {
    const scales = JSON.parse(svg.dataset.scales);
    const series = Array.from(svg.querySelectorAll("[data-series]"), (group) => {
      const points = new Map();
      for (const element of group.querySelectorAll("[data-values]")) {
        const places = placesOf(element);
        element.dataset.values.split(" ").forEach((text, index) => {
          const [across, up, low, high] = text.split(",").map(Number);
          points.set(places[index], { x: places[index], across, up, low, high });
        });
      }
      const paint = group.querySelector("path, circle");
      const sorted = [...points.values()].sort((a, b) => a.x - b.x);
      return { label: group.dataset.series, points: sorted, paint };
    }).filter(({ points }) => points.length > 0);
    const values = new Map(series.flatMap(({ points }) => points.map(({ x, across }) => [x, across])));
    return { scales, series, values, xs: [...values.keys()].sort((a, b) => a - b) };
  }

  /** A place along x for people: a whole number with all of its digits. */
  function position(value) {
    if (!Number.isInteger(value) || Math.abs(value) >= 1e15) return figure(value);
    const grouped = String(Math.abs(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return (value < 0 ? "\u2212" : "") + grouped;
  }

  /** The index of the nearest of growing numbers. */
  function nearest(sorted, number, of = (value) => value) {
    let [low, high] = [0, sorted.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (of(sorted[middle]) < number) low = middle;
      else high = middle;
    }
    return number - of(sorted[low]) <= of(sorted[high]) - number ? low : high;
  }

  /** All series at one place along x, in words, each with a sample of its colour. */
  function readOut({ scales, series, values }, x) {
    const { x: across } = scales;
    const close = 0.01 * (across.at[1] - across.at[0]);
    // The label's unit is that of the numbers.
    const lines = [make("p", { class: "at" }, `${across.label} ${position(values.get(x))}`)];
    for (const { label, points, paint } of series) {
      const point = points[nearest(points, x, (p) => p.x)];
      if (Math.abs(point.x - x) > close) continue;
      let text = figure(point.up);
      if (point.low !== undefined) {
        const [low, high] = [point.low, point.high].map(figure);
        if (low !== high) text += ` [${low}, ${high}]`;
      }
      const style = getComputedStyle(paint);
      const sample = make("span", { class: "sample" });
      sample.style.background = style.stroke === "none" ? style.fill : style.stroke;
      lines.push(make("p", {}, [sample, `${label}: `, make("b", {}, text)]));
    }
    return lines;
  }

  for (const svg of document.querySelectorAll("svg[data-scales]")) {
    let plot = null;
    let at = null;
    const line = document.createElementNS(SVG, "line");
    line.setAttribute("class", "cross");

    const leave = () => {
      hideTip();
      line.remove();
      at = null;
    };

    /** Reads out the given place along x; the box stands by a point of the window. */
    const read = (index, clientY, note) => {
      at = index;
      const { x: across, y: up } = plot.scales;
      const x = plot.xs[index];
      for (const [name, value] of Object.entries({ x1: x, x2: x, y1: up.at[0], y2: up.at[1] })) {
        line.setAttribute(name, value);
      }
      svg.append(line);
      const corner = new DOMPoint(x, up.at[1]).matrixTransform(svg.getScreenCTM());
      const lines = readOut(plot, x);
      if (note) lines.unshift(make("p", {}, note));
      showTip(lines, corner.x, clientY ?? corner.y);
    };

    const point = (event) => {
      plot ??= readPlot(svg);
      const { x: across, y: up } = plot.scales;
      const place = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = place.matrixTransform(svg.getScreenCTM().inverse());
      const inside = x >= across.at[0] - 6 && x <= across.at[1] + 6 && y >= up.at[1] && y <= up.at[0];
      if (inside && plot.xs.length > 0) {
        // What a point of a curve tells is read out in any case.
        const note = event.target.closest("[data-series] circle") ? null : told(event.target);
        read(nearest(plot.xs, x), event.clientY, note);
      } else {
        leave();
        const text = told(event.target);
        if (text) showTip([make("p", {}, text)], event.clientX, event.clientY);
      }
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", leave);

    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      plot ??= readPlot(svg);
      const last = plot.xs.length - 1;
      const next = {
        ArrowRight: at === null ? 0 : Math.min(at + 1, last),
        ArrowLeft: at === null ? last : Math.max(at - 1, 0),
        Home: 0,
        End: last,
      }[event.key];
      if (event.key === "Escape") leave();
      if (next === undefined || last < 0) return;
      event.preventDefault();
      read(next);
    });
  }

  // Cells of maps and nodes of graphs tell their own values.
  for (const svg of document.querySelectorAll("figure svg:not([data-scales])")) {
    const tell = (event) => {
      const text = told(event.target);
      if (text) showTip([make("p", {}, text)], event.clientX, event.clientY);
      else hideTip();
    };
    svg.addEventListener("pointermove", tell);
    svg.addEventListener("pointerdown", tell);
    svg.addEventListener("pointerleave", hideTip);
  }

  // ---- The horizontal axis, for the whole page ----

  function chooseAxis(name) {
    for (const figure of document.querySelectorAll("figure.switched")) {
      const drawings = [...figure.querySelectorAll("[data-by]")];
      if (!drawings.some((drawing) => drawing.dataset.by === name)) continue;
      for (const drawing of drawings) drawing.hidden = drawing.dataset.by !== name;
    }
    for (const choice of document.querySelectorAll(".switch button")) {
      choice.setAttribute("aria-pressed", String(choice.textContent === name));
    }
  }

  const switched = [...document.querySelectorAll("figure.switched")];
  for (const group of new Set(switched.map((figure) => figure.closest(".figures") ?? figure))) {
    const drawings = [group, ...group.querySelectorAll("figure")].flatMap((figure) =>
      figure.matches("figure.switched") ? [...figure.querySelectorAll("[data-by]")] : [],
    );
    const names = [...new Set(drawings.map((drawing) => drawing.dataset.by))];
    const choices = names.map((name, at) => {
      const choice = button(name, `show all curves over ${name}`, () => chooseAxis(name));
      choice.setAttribute("aria-pressed", String(at === 0));
      return choice;
    });
    const label = make("span", {}, "curves over");
    const bar = make("div", { class: "tools switch", role: "group" }, [label, ...choices]);
    bar.setAttribute("aria-label", "horizontal axis");
    group.before(bar);
  }

  // ---- Downloads ----

  function download(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  function fileName(text, extension) {
    const plain = text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    return `${plain.slice(0, 60) || "report"}.${extension}`;
  }

  /** A drawing as a file of its own: what the page adds is gone, and so is its theme. */
  function standalone(svg) {
    const copy = svg.cloneNode(true);
    copy.querySelectorAll(".cross, [display=none]").forEach((element) => element.remove());
    for (const element of [copy, ...copy.querySelectorAll("*")]) {
      if (element.dataset.told) {
        const title = document.createElementNS(SVG, "title");
        title.textContent = element.dataset.told;
        element.prepend(title);
      }
      for (const { name } of [...element.attributes]) {
        // Without its style an element has the colour of the light theme.
        if (name === "style" || name === "tabindex" || name.startsWith("data-")) {
          element.removeAttribute(name);
        }
      }
    }
    return new XMLSerializer().serializeToString(copy);
  }

  function offerDrawing(holder) {
    const visible = () => [...holder.querySelectorAll("svg")].find((svg) => !svg.closest("[hidden]"));
    const save = button("SVG", "download this drawing", () => {
      const svg = visible();
      download(fileName(svg.getAttribute("aria-label"), "svg"), "image/svg+xml", standalone(svg));
    });
    const bar = make("div", { class: "tools" }, [save]);
    const caption = holder.querySelector(":scope > figcaption");
    if (caption) caption.before(bar);
    else holder.append(bar);
  }
  document.querySelectorAll("figure:not(.wide), .multiples > div").forEach(offerDrawing);

  /** A field of CSV, in quotation marks where it must be. */
  function field(text) {
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  /** A cell's fields as the file has them: a number, the ends of its interval, its significance. */
  function fields(cell) {
    return "value" in cell.dataset ? cell.dataset.value.split(" ") : [cell.textContent];
  }

  /** A table as CSV: exact numbers; a column with intervals has two more, or three, beside it. */
  function csv(table, heads) {
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(fields));
    const widths = heads.map((_, c) => Math.max(1, ...rows.map((row) => row[c].length)));
    const head = heads.flatMap(({ name, unit }, c) => {
      const titles = ["", "_low", "_high"].map((end) => name + end + (unit && ` ${unit}`));
      return [...titles, `${name}_significant`].slice(0, widths[c]);
    });
    const body = rows.map((row) =>
      row.flatMap((cell, c) => Array.from({ length: widths[c] }, (_, i) => cell[i] ?? "")),
    );
    return [head, ...body].map((line) => line.map(field).join(",") + "\r\n").join("");
  }

  // ---- Tables ----

  /** What a cell is sorted by: a number, else its text, else nothing. */
  function key(cell) {
    if (!("value" in cell.dataset)) return cell.textContent.toLowerCase();
    const text = fields(cell)[0].replace("inf", "Infinity");
    return text === "" ? null : Number(text);
  }

  function compare(a, b) {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  }

  /** Sorts the rows by a column; what is missing is last in either direction. */
  function sort(table, column, direction) {
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: key(row.cells[column]) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return direction * compare(a.key, b.key);
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
  }

  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    const titles = heads.map((head) => {
      const unit = head.querySelector(".unit")?.textContent ?? "";
      return { name: head.textContent.slice(0, head.textContent.length - unit.length).trim(), unit };
    });
    heads.forEach((head, column) => {
      if (titles[column].name === "") return;
      const sorter = make("button", { type: "button", title: "sort" }, [...head.childNodes], () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, column, ascending ? 1 : -1);
      });
      head.replaceChildren(sorter);
    });
    const title = table.caption?.textContent || table.closest("section")?.querySelector("h2")?.textContent;
    const save = button("CSV", "download this table", () =>
      download(fileName(title || "table", "csv"), "text/csv", csv(table, titles)),
    );
    (table.closest(".scroll") ?? table).after(make("div", { class: "tools" }, [save]));
  }

  // ---- Films ----

  /** A colour of the map at a share of its length, by linear interpolation between its steps. */
  function colour(steps, share) {
    const place = share * (steps.length - 1);
    const below = Math.min(Math.floor(place), steps.length - 2);
    const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
    return [0, 1, 2].map((i) => {
      const [a, b] = [part(steps[below], i), part(steps[below + 1], i)];
      return Math.round(a + (place - below) * (b - a));
    });
  }

  /** Black or white, whichever stands out more (relative luminance). */
  function lettering(rgb) {
    const [r, g, b] = rgb.map((c) => (c / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  }

  const TOP = 254;

  for (const holder of document.querySelectorAll("figure[data-film]")) {
    const film = JSON.parse(holder.dataset.film);
    const nodes = [...holder.querySelectorAll("[data-peer]")];
    const letters = new Map(
      Array.from(holder.querySelectorAll("[data-letters]"), (text) => [text.dataset.letters, text]),
    );
    const peers = film.labels.length;
    const last = film.rounds.length - 1;
    for (const measure of film.measures) {
      measure.levels = Uint8Array.from(atob(measure.levels), (c) => c.charCodeAt(0));
    }
    const rgb = Array.from({ length: TOP + 1 }, (_, level) => colour(film.colours, level / TOP));
    const hex = rgb.map((c) => "#" + c.map((part) => part.toString(16).padStart(2, "0")).join(""));
    let shown = 0;
    let each = false;
    let timer = null;

    const slider = make("input", { type: "range", min: 0, max: last, step: 1 });
    slider.setAttribute("aria-label", "round");
    const round = make("output");
    slider.value = last;

    /** A level in words. */
    const tell = ({ places, log }, level) => {
      const place = places[0] + (level / TOP) * (places[1] - places[0]);
      return (log && level === 0 ? "≤\u202f" : "") + figure(log ? 10 ** place : place);
    };

    const draw = () => {
      const frame = Number(slider.value);
      const measure = film.measures[shown];
      const now = measure.levels.subarray(frame * peers, (frame + 1) * peers);
      const known = now.filter((level) => level <= TOP);
      // The levels at the dark and at the light end.
      const [dark, light] = each && known.length > 0 ? [Math.min(...known), Math.max(...known)] : [0, TOP];
      for (const node of nodes) {
        const peer = Number(node.dataset.peer);
        const level = now[peer] ?? 255;
        const shade = Math.round((TOP * (level - dark)) / Math.max(light - dark, 1));
        const has = level <= TOP;
        node.setAttribute("fill", has ? hex[shade] : film.neutral);
        node.dataset.told = `${film.labels[peer]}: ${has ? tell(measure, level) : "no value"}`;
        letters.get(node.dataset.peer)?.setAttribute("fill", has ? lettering(rgb[shade]) : "#000000");
      }
      for (const bar of holder.querySelectorAll("[data-bar]")) {
        bar.setAttribute("display", Number(bar.dataset.bar) === shown ? "inline" : "none");
        // The numbers below the bar are those of all rounds.
        for (const mark of bar.querySelectorAll("path, text:not(:last-child)")) {
          mark.setAttribute("visibility", each ? "hidden" : "visible");
        }
        const ends = bar.querySelector(".ends") ?? bar.appendChild(document.createElementNS(SVG, "g"));
        ends.setAttribute("class", "ends");
        const rects = [...bar.querySelectorAll("rect")];
        const at = rects[0].getBBox();
        const far = rects[rects.length - 1].getBBox();
        const texts = each ? [[at.x, "start", dark], [far.x + far.width, "end", light]] : [];
        ends.replaceChildren(
          ...texts.map(([x, anchor, level]) => {
            const text = document.createElementNS(SVG, "text");
            const place = { x, y: at.y + 27, "text-anchor": anchor, fill: "#1b1f24" };
            for (const [name, value] of Object.entries(place)) text.setAttribute(name, value);
            text.textContent = tell(measure, level);
            return text;
          }),
        );
      }
      round.textContent = `round ${film.rounds[frame]}`;
      slider.setAttribute("aria-valuetext", round.textContent);
    };

    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    };
    const start = () => {
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      if (Number(slider.value) === last) slider.value = 0;
      play.textContent = "Pause";
      draw();
      timer = setInterval(() => {
        slider.value = Number(slider.value) + 1;
        draw();
        if (Number(slider.value) === last) stop();
      }, calm ? 1000 : 120);
    };
    const play = button("Play", "play the rounds, or pause", () => (timer ? stop() : start()));
    slider.addEventListener("input", () => {
      if (timer) stop();
      draw();
    });

    const tools = last > 0 ? [play, slider, round] : [];
    const choose = (label, names, choice) => {
      const options = names.map((name, at) => make("option", { value: at }, name));
      const select = make("select", {}, options);
      select.addEventListener("change", () => {
        choice(Number(select.value));
        draw();
      });
      tools.push(make("label", {}, [label, select]));
    };
    if (film.measures.length > 1) {
      const names = film.measures.map(({ name }) => name);
      choose("colour: ", names, (at) => (shown = at));
    }
    if (last > 0) choose("range: ", ["of all rounds", "of each round"], (at) => (each = at === 1));
    holder.querySelector("svg").after(make("div", { class: "tools film" }, tools));
    draw();
  }

  // ---- The theme ----

  const themes = ["auto", "light", "dark"];
  const theme = button("theme: auto", "switch between the system's theme, light and dark", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % 3];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    theme.textContent = `theme: ${next}`;
  });
  document.querySelector("header").prepend(make("div", { class: "tools theme" }, [theme]));
})();
