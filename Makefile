# placeholder until tests land
