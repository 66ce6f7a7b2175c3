document.title = 'Weft';
