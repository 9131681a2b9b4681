// Puts interactive charts in the place of the static pictures, on demand, and takes them away again.
(() => {
  'use strict';
  const byId = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll('button[data-interactive]')];
  const live = new Map();
  let charts = null;
  let library = false;

  // A context is asked for before rotation is offered: no button may lead to an empty box.
  const hasWebgl = () => {
    try {
      const context = document.createElement('canvas').getContext('webgl');
      if (!context) return false;
      context.getExtension('WEBGL_lose_context')?.loseContext();
      return true;
    } catch {
      return false;
    }
  };

  const load = () => {
    if (library) return;
    const script = document.createElement('script');
    script.textContent = byId('chart-library').textContent;
    document.head.append(script);
    library = true;
  };

  const themed = (layout) => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour('--rule'), zerolinecolor: colour('--rule'), linecolor: colour('--dim') };
    const result = {
      ...layout,
      autosize: true,
      paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)',
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour('--ink') },
      margin: layout.scene ? { l: 0, r: 0, t: 10, b: 0 } : { l: 70, r: 20, t: 30, b: 60 },
      legend: { orientation: 'h', y: 1.02, yanchor: 'bottom', x: 0 },
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: colour('--dim'), activecolor: colour('--accent') },
      hoverlabel: { font: { color: '#16202b' }, bgcolor: '#fff', bordercolor: '#9aa5b1' },
    };
    for (const key of Object.keys(result)) {
      if (/^[xy]axis/.test(key)) result[key] = { ...result[key], ...axis };
    }
    // The middle of a scale about nothing belongs to the theme, as in the picture; other scales go by their name.
    if (Array.isArray(layout.coloraxis?.colorscale)) {
      const stop = ([at, name]) => [at, name === 'neutral' ? colour('--neutral') : name];
      result.coloraxis = { ...layout.coloraxis, colorscale: layout.coloraxis.colorscale.map(stop) };
    }
    if (layout.scene) {
      result.scene = { ...layout.scene };
      for (const key of ['xaxis', 'yaxis', 'zaxis']) {
        result.scene[key] = { ...result.scene[key], ...axis, showbackground: false };
      }
    }
    return result;
  };

  const close = (name) => {
    const chart = live.get(name);
    if (!chart) return;
    live.delete(name);
    try {
      window.Plotly.purge(chart.box);
    } catch {
      // A chart that lost its context may not be able to clean up; its box goes anyway.
    }
    chart.box.remove();
    chart.figure.classList.remove('live');
    chart.button.textContent = chart.button.dataset.words;
    chart.button.setAttribute('aria-pressed', 'false');
  };

  const closeAll = () => [...live.keys()].forEach(close);

  const note = (figure, text) => {
    const line = document.createElement('p');
    line.className = 'webgl-note';
    line.textContent = text;
    figure.querySelector('figcaption').append(line);
  };

  const open = async (button) => {
    const name = button.dataset.interactive;
    const figure = button.closest('figure');
    // Browsers keep few WebGL contexts alive: one chart that needs one at a time.
    const needsWebgl = 'webgl' in button.dataset;
    if (needsWebgl) [...live].filter(([, chart]) => chart.needsWebgl).forEach(([other]) => close(other));
    const box = document.createElement('div');
    box.className = 'plotly-chart';
    box.dataset.chart = name;
    figure.querySelector('.picture').after(box);
    live.set(name, { box, figure, button, needsWebgl });
    try {
      load();
      charts ??= JSON.parse(byId('charts').textContent);
      const { data, layout } = charts[name];
      figure.classList.add('live');
      await window.Plotly.newPlot(box, structuredClone(data), themed(structuredClone(layout)), {
        responsive: true,
        displaylogo: false,
        showSendToCloud: false,
        plotlyServerURL: '',
        modeBarButtonsToRemove: ['sendDataToCloud', 'editInChartStudio', 'lasso2d', 'select2d'],
      });
      const canvases = box.querySelectorAll('canvas');
      canvases.forEach((canvas) => canvas.addEventListener('webglcontextlost', () => close(name)));
      button.textContent = 'Back to the picture';
      button.setAttribute('aria-pressed', 'true');
    } catch (error) {
      close(name);
      button.hidden = true;
      note(figure, `The interactive chart could not be drawn here (${error.message}); the picture stands.`);
    }
  };

  const webgl = buttons.some((button) => 'webgl' in button.dataset) && hasWebgl();
  for (const button of buttons) {
    if ('webgl' in button.dataset && !webgl) {
      note(button.closest('figure'), 'This browser offers no WebGL, so the surface cannot be rotated here.');
      continue;
    }
    button.hidden = false;
    button.addEventListener('click', () => (live.has(button.dataset.interactive) ? close(button.dataset.interactive) : open(button)));
  }

  const record = byId('record');
  if (record.textContent === 'null') {
    byId('download-note').textContent = 'The record is too large for this page; it lies beside it.';
  } else {
    const complete = record.dataset.complete === 'true';
    byId('download-note').textContent = record.dataset.note ?? (complete
      ? 'This page holds the whole record, every raw window included.'
      : 'This page holds the record without raw windows; they are in the record beside it.');
    const download = byId('download');
    download.hidden = false;
    download.addEventListener('click', () => {
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([record.textContent], { type: 'application/json' }));
      link.download = record.dataset.file ?? 'record.json';
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // On paper the pictures stand, with every table open.
  let opened = [];
  addEventListener('beforeprint', () => {
    closeAll();
    opened = [...document.querySelectorAll('details:not([open])')];
    opened.forEach((details) => (details.open = true));
  });
  addEventListener('afterprint', () => opened.forEach((details) => (details.open = false)));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', closeAll);
})();
